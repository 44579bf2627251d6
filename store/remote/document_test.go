package remote

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// A reader and a writer made from docs/FORMAT.md alone. They share no code with the package, so that
// the document and the code cannot drift apart.

func u32(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

func u64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func field(b []byte) []byte { return append(u32(len(b)), b...) }

func joined(b ...[]byte) []byte { return bytes.Join(b, nil) }

func sha(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:]
}

// documented is an object as the document has it.
type documented struct {
	tenant, kind, builder string
	name, payload         []byte
	signed                []byte // the .bin, or the manifest
	decompressed          uint64
	time                  int64
	by                    ed25519.PrivateKey
}

func (d documented) bytes() []byte {
	fields := joined(
		field([]byte(d.tenant)), field([]byte(d.kind)), field(d.name), field(sha(d.payload)), field(u64(uint64(len(d.payload)))),
		field(u64(d.decompressed)), field(sha(d.signed)), field([]byte(d.builder)), field(u64(uint64(d.time))),
	)
	head := joined([]byte("kstobj\r\n"), u32(1), u32(16+len(fields)), fields)
	if d.by == nil {
		return joined(head, u32(0), d.payload)
	}
	signature := ed25519.Sign(d.by, joined(u32(16), []byte("kernstash object"), head))
	return joined(head, u32(96), d.by.Public().(ed25519.PublicKey), signature, d.payload)
}

// TestDocumentDescribesObjects: what is made by the document hits, and what a store makes is what the
// document says.
func TestDocumentDescribesObjects(t *testing.T) {
	t.Parallel()
	e := storetest.New(t, "one", 5000)
	bin, err := format.EncodeBin(e.Key, e.Artifact)
	if err != nil {
		t.Fatal(err)
	}
	src, err := format.EncodeSrc(e.Recipe)
	if err != nil {
		t.Fatal(err)
	}
	content := joined(u64(uint64(bin.Size)), joined(bin.Parts...), src)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	k := e.Key
	d := documented{
		tenant: "ours", kind: "entry", builder: "ci", name: joined(k.Device[:], k.Image[:], k.Constants[:], k.Options[:], k.Sum[:]),
		payload: z.EncodeAll(content, nil), signed: joined(bin.Parts...), decompressed: uint64(len(content)), time: 7, by: keyOf(1),
	}
	got, err := reader(d.bytes()).Fetch(t.Context(), k)
	if err != nil || !bytes.Equal(got.Artifact.Binaries[0].Data, e.Artifact.Binaries[0].Data) || got.Recipe.Key() != k {
		t.Errorf("what is made by the document: %v", err)
	}
	manifest := documented{
		tenant: "ours", kind: "manifest", name: k.Image[:], payload: z.EncodeAll([]byte("content"), nil), signed: []byte("content"), decompressed: 7, by: keyOf(1),
	}
	if got, err := reader(manifest.bytes()).GetBlob(t.Context(), store.Manifests, k.Image); err != nil || string(got) != "content" {
		t.Errorf("a manifest made by the document: %q, %v", got, err)
	}

	list := joined(u32(3), []byte("app"), u32(1), k.Device[:], k.Image[:], k.Constants[:], k.Options[:], u32(2), k.Image[:], k.Sum[:])
	app := documented{
		tenant: "ours", kind: "app", name: sha([]byte("app")), payload: z.EncodeAll(list, nil), decompressed: uint64(len(list)), by: keyOf(1),
	}
	known := &store.App{Keys: []key.Key{k}, Manifests: []key.Digest{k.Image, k.Sum}}
	if got, err := reader(app.bytes()).App(t.Context(), "app"); err != nil || !reflect.DeepEqual(got, known) {
		t.Errorf("what an application uses, by the document: %+v, %v", got, err)
	}
	if !bytes.Equal(encodeApp("app", known), list) {
		t.Error("a store lists something else")
	}
	pack := joined([]byte("kstpck\r\n"), u32(1), u32(len(d.bytes())), d.bytes(), u32(len(manifest.bytes())), manifest.bytes(), u32(9), []byte("too early"[:8]))
	if got := slices.Collect(unpackObjects(pack)); len(got) != 2 || !bytes.Equal(got[0], d.bytes()) || !bytes.Equal(got[1], manifest.bytes()) {
		t.Errorf("a pack by the document has %d objects", len(got))
	}
	s := New(nil, Options{Tenant: "ours"})
	if a, p := s.AppName("app"), s.PackName("app"); a != "v1/ours/a/"+hex.EncodeToString(sha([]byte("app"))) || p != strings.Replace(a, "/a/", "/p/", 1) {
		t.Errorf("%s, %s", a, p)
	}

	for name, by := range map[string]ed25519.PrivateKey{"signed": keyOf(1), "not signed": nil} {
		w := New(nil, Options{Tenant: "ours", Builder: "ci", Sign: by})
		w.nowTime = func() time.Time { return time.Unix(0, 7) }
		b := object1(t, w, e)
		d.by = by
		s := 0
		if by != nil {
			s = 96
		}
		h := int(binary.LittleEndian.Uint32(b[12:]))
		d.payload = b[h+4+s:]
		if !bytes.Equal(b, d.bytes()) {
			t.Errorf("%s: a store makes\n%x, the document\n%x", name, b, d.bytes())
		}
		unpacked, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer unpacked.Close()
		if held, err := unpacked.DecodeAll(d.payload, nil); err != nil || !bytes.Equal(held, content) {
			t.Errorf("%s: the payload holds something else, %v", name, err)
		}
	}
}

// TestDocumentNamesTheConstants: what the tables say in words and numbers.
func TestDocumentNamesTheConstants(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"`kstobj\\r\\n`", "`kstpck\\r\\n`", "v1/<tenant>/a/<name>", "v1/<tenant>/p/<name>", "at most 64 MiB", "1 to 256 bytes", "more than 32", "at most 4096", "`kernstash object`", "0 … 256", "v1/<tenant>/<xx>/<sum>", "v1/<tenant>/m/<name>", "lease/<tenant>/<sum>", "at most 16 MiB",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("docs/FORMAT.md does not say %q", want)
		}
	}
	if packHead != 12 || MaxPack != 64<<20 || maxAppName != 256 || inFlight != 32 || maxHead != 4096 || maxBuilder != 256 || maxManifest != 16<<20 || len(domain) != 16 || signatureBytes != 96 || prefixBytes != 16 {
		t.Error("docs/FORMAT.md says other bounds")
	}
}
