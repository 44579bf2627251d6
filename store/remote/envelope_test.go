package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

// keyOf returns a private key that a number makes, always the same.
func keyOf(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func publicOf(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// one is an engine of a single object, whatever its name.
type one struct {
	Objects
	b []byte
}

func (o one) Get(ctx context.Context, _ string, limit int64) ([]byte, error) {
	if int64(len(o.b)) > limit {
		return nil, ErrTooLarge
	}
	return bytes.Clone(o.b), ctx.Err()
}

// reader returns a store that trusts the key 1, and reads b whatever it is asked for.
func reader(b []byte, lists ...*trust.List) *Store {
	list := trust.Of(publicOf(keyOf(1)))
	if len(lists) > 0 {
		list = lists[0]
	}
	return New(one{b: b}, Options{Tenant: "ours", Trust: list, MaxSize: 1 << 20})
}

// writer returns a store of this tenant that signs with this key, nil: not.
func writer(tenant string, k ed25519.PrivateKey) *Store {
	s := New(nil, Options{Tenant: tenant, Builder: "ci", Sign: k})
	s.nowTime = func() time.Time { return time.Unix(1, 0) } // so that workers of a fuzzer agree
	return s
}

func object1(t testing.TB, s *Store, e *store.Entry) []byte {
	t.Helper()
	b, err := s.encode(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reasonFor returns why getting an entry of an object is a miss; 0: it is none.
func reasonFor(t testing.TB, s *Store, k key.Key) reason.Reason {
	t.Helper()
	e, err := s.Get(context.Background(), k)
	if err == nil {
		return 0
	}
	var m *store.MissError
	if !errors.As(err, &m) || e != nil {
		t.Fatalf("%v, %v: want a *store.MissError and no entry", e, err)
	}
	return m.Reason
}

// forged returns the object with its head changed, and the signature as it was.
func forged(t testing.TB, b []byte, change func(*object)) []byte {
	t.Helper()
	o, err := parse(bytes.Clone(b))
	if err != nil {
		t.Fatal(err)
	}
	change(o)
	out := o.head.append(nil)
	if o.signer == nil {
		out = binary.LittleEndian.AppendUint32(out, 0)
	} else {
		out = binary.LittleEndian.AppendUint32(out, signatureBytes)
		out = append(append(out, o.signer...), o.signature...)
	}
	return append(out, o.payload...)
}

// signedBy returns the object with a signature by k of what message says.
func signedBy(t testing.TB, b []byte, k ed25519.PrivateKey, message func(head []byte) []byte) []byte {
	t.Helper()
	return forged(t, b, func(o *object) { o.signer, o.signature = publicOf(k), ed25519.Sign(k, message(o.raw)) })
}

// TestWhatIsSigned: whoever changes one field of an object, and all that depends on it but the
// signature, makes a miss of it, and so does who signs with another key, for another use, or not.
func TestWhatIsSigned(t *testing.T) {
	t.Parallel()
	e, other := storetest.New(t, "one", 1000), storetest.New(t, "two", 1000)
	good := object1(t, writer("ours", keyOf(1)), e)
	foreign := object1(t, writer("hers", keyOf(1)), e) // as long as ours, so that nothing else of the head changes with it
	swapped := object1(t, writer("ours", keyOf(1)), other)
	evil := object1(t, writer("ours", nil), e)
	payloadOf := func(b []byte) []byte {
		o, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		return o.payload
	}
	if why := reasonFor(t, reader(good), e.Key); why != 0 {
		t.Fatalf("a good object is a miss: %v", why)
	}
	// Another payload that decompresses to the same length: the frame is made otherwise.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	_, content, err := writer("ours", nil).unseal(evil, kindEntry, nameOf(e.Key))
	if err != nil {
		t.Fatal(err)
	}
	otherwise := z.EncodeAll(content, nil)
	for name, tt := range map[string]struct {
		b    []byte
		want reason.Reason
	}{
		"tenant": {forged(t, foreign, func(o *object) { o.tenant = "ours" }), reason.MissUntrusted},
		"kind": {forged(t, sealed(t, kindManifest, nameOf(e.Key)[128:], payloadOf(good), uint64(len(content)), keyOf(1)), func(o *object) {
			o.kind, o.name = kindEntry, nameOf(e.Key)
		}), reason.MissUntrusted},
		"key": {forged(t, swapped, func(o *object) { o.name = nameOf(e.Key) }), reason.MissUntrusted},
		"digest and length": {forged(t, good, func(o *object) {
			o.payload, o.digest, o.compressed = otherwise, sha256.Sum256(otherwise), uint64(len(otherwise))
		}), reason.MissUntrusted},
		"digest": {forged(t, good, func(o *object) {
			o.payload[len(o.payload)-1] ^= 1
			o.digest = sha256.Sum256(o.payload)
		}), reason.MissUntrusted},
		"compressed length": {forged(t, good, func(o *object) {
			o.payload, o.compressed = append(bytes.Clone(o.payload), 0), o.compressed+1
		}), reason.MissUntrusted},
		"decompressed length":            {forged(t, good, func(o *object) { o.decompressed++ }), reason.MissUntrusted},
		"builder":                        {forged(t, good, func(o *object) { o.builder = "CI" }), reason.MissUntrusted},
		"a byte from builder to nowhere": {forged(t, good, func(o *object) { o.builder = "c" }), reason.MissUntrusted},
		"time":                           {forged(t, good, func(o *object) { o.created++ }), reason.MissUntrusted},
		"signature":                      {forged(t, good, func(o *object) { o.signature[5] ^= 1 }), reason.MissUntrusted},
		"key of the signature":           {forged(t, good, func(o *object) { o.signer = publicOf(keyOf(2)) }), reason.MissUntrusted},

		"signed by others":            {object1(t, writer("ours", keyOf(2)), e), reason.MissUntrusted},
		"signed by others as by ours": {forged(t, object1(t, writer("ours", keyOf(2)), e), func(o *object) { o.signer = publicOf(keyOf(1)) }), reason.MissUntrusted},
		"not signed":                  {evil, reason.MissUntrusted},
		"without a domain":            {signedBy(t, evil, keyOf(1), func(head []byte) []byte { return head }), reason.MissUntrusted},
		"of another domain": {signedBy(t, evil, keyOf(1), func(head []byte) []byte {
			return append([]byte("\x10\x00\x00\x00kernstash bundle"), head...)
		}), reason.MissUntrusted},
		"of another version": {signedBy(t, evil, keyOf(1), func(head []byte) []byte {
			head = bytes.Clone(head)
			head[8]++
			return message(head)
		}), reason.MissUntrusted},

		// These are signed as they are: they are good objects in the wrong place.
		"moved from another key":    {swapped, reason.MissUntrusted},
		"moved from another tenant": {foreign, reason.MissUntrusted},
		"a manifest of that name":   {sealed(t, kindManifest, e.Key.Sum[:], payloadOf(good), uint64(len(content)), keyOf(1)), reason.MissUntrusted},

		"damaged payload": {append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), reason.MissDigest},
		"trailing bytes":  {append(bytes.Clone(good), 0), reason.MissTruncated},
		"a newer version": {append(append(bytes.Clone(good[:8]), version+1), good[9:]...), reason.MissVersion},
		"another file":    {[]byte("kstbin\r\n and so on"), reason.MissForeign},
		"nothing":         {nil, reason.MissTruncated},
		"too large":       {bytes.Repeat([]byte{0}, 1<<20+1), reason.MissTruncated},
	} {
		if why := reasonFor(t, reader(tt.b), e.Key); why != tt.want {
			t.Errorf("%s: %v, want %v", name, why, tt.want)
		}
	}
	for name, tt := range map[string]struct {
		list *trust.List
		b    []byte
		want reason.Reason
	}{
		"no list, not signed":         {nil, evil, 0},
		"no list, signed":             {nil, good, 0},
		"no key in the list":          {trust.Of(), evil, 0},
		"two keys, the first":         {trust.Of(publicOf(keyOf(1)), publicOf(keyOf(2))), good, 0},
		"two keys, the second":        {trust.Of(publicOf(keyOf(2)), publicOf(keyOf(1))), good, 0},
		"no list, of another key":     {nil, swapped, reason.MissCollision},
		"no list, of another tenant":  {nil, foreign, reason.MissForeign},
		"no list, an altered payload": {nil, append(bytes.Clone(evil[:len(evil)-1]), evil[len(evil)-1]^1), reason.MissDigest},
	} {
		if why := reasonFor(t, reader(tt.b, tt.list), e.Key); why != tt.want {
			t.Errorf("%s: %v, want %v", name, why, tt.want)
		}
	}
}

// sealed returns an object of a payload that is compressed.
func sealed(t testing.TB, kind string, name, payload []byte, decompressed uint64, k ed25519.PrivateKey) []byte {
	t.Helper()
	return seal(head{tenant: "ours", kind: kind, name: name, decompressed: decompressed, builder: "ci", created: 5}, payload, k)
}

// TestEveryByteCounts: no change of a byte of a signed object, and no end before its end, leaves a hit.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	e := storetest.New(t, "one", 40)
	good := object1(t, writer("ours", keyOf(1)), e)
	engine := new(one)
	s := New(engine, Options{Tenant: "ours", Trust: trust.Of(publicOf(keyOf(1)))})
	if engine.b = good; reasonFor(t, s, e.Key) != 0 {
		t.Fatal("a good object is a miss")
	}
	for i := range good {
		engine.b = bytes.Clone(good)
		engine.b[i] ^= 1 << (i % 8)
		if reasonFor(t, s, e.Key) == 0 {
			t.Errorf("byte %d of %d is changed, and it hits", i, len(good))
		}
		engine.b = good[:i]
		if why := reasonFor(t, s, e.Key); why != reason.MissTruncated {
			t.Errorf("%d of %d bytes: %v, want %v", i, len(good), why, reason.MissTruncated)
		}
	}
}

// TestVerifiedBeforeDecompressed: what is not signed by a trusted key is not decompressed: that it is
// no zstd is never found out.
func TestVerifiedBeforeDecompressed(t *testing.T) {
	t.Parallel()
	k := storetest.New(t, "one", 1).Key
	for name, tt := range map[string]struct {
		by   ed25519.PrivateKey
		want reason.Reason
	}{
		"trusted":      {keyOf(1), reason.MissDigest},
		"another key":  {keyOf(2), reason.MissUntrusted},
		"not signed":   {nil, reason.MissUntrusted},
		"wrong digest": {keyOf(1), reason.MissDigest},
	} {
		b := sealed(t, kindEntry, nameOf(k), []byte("no zstd"), 100, tt.by)
		if name == "wrong digest" {
			b[len(b)-1] ^= 1
		}
		err := errors.Unwrap(missOf(t, reader(b), k))
		if why := reasonFor(t, reader(b), k); why != tt.want || errors.Is(err, format.ErrMalformed) != (name == "trusted") {
			t.Errorf("%s: %v: %v", name, why, err)
		}
	}
}

func missOf(t testing.TB, s *Store, k key.Key) error {
	t.Helper()
	_, err := s.Get(context.Background(), k)
	if err == nil {
		t.Fatal("a hit")
	}
	return err
}

// TestObjectBombs: no more is made of an object than its head says, and than the store's limit allows, even
// where who signed it is trusted.
func TestObjectBombs(t *testing.T) {
	t.Parallel()
	const gigabyte = 1 << 30
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	// A frame that does not say how much it holds: a window of 128 KiB, and blocks of one byte 131072 times.
	bomb := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3}
	for n := gigabyte / 131072; n > 0; n-- {
		last := 0
		if n == 1 {
			last = 1
		}
		bomb = append(append(bomb, u32(last | 1<<1 | 131072<<3)[:3]...), 'x')
	}
	if n := len(bomb); n > 40_000 {
		t.Fatalf("the bomb has %d bytes", n)
	}
	k := storetest.New(t, "one", 1).Key
	small := z.EncodeAll(make([]byte, 1000), nil)
	for name, tt := range map[string]struct {
		payload      []byte
		decompressed uint64
	}{
		"a stream that says nothing":       {bomb, 1 << 20},
		"more than the limit":              {bomb, gigabyte},
		"a length that is nonsense":        {bomb, 1 << 63},
		"more than it says, by one":        {small, 999},
		"less than it says":                {small, 1001},
		"several frames":                   {bytes.Repeat(small, 3), 2000},
		"a frame that claims what is huge": {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0}, 1 << 20},
	} {
		b := sealed(t, kindEntry, nameOf(k), tt.payload, tt.decompressed, keyOf(1))
		var before, after runtime.MemStats
		s := reader(b)
		runtime.ReadMemStats(&before)
		why := reasonFor(t, s, k)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 { // other tests run meanwhile
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
		if why != reason.MissDigest && why != reason.MissTruncated {
			t.Errorf("%s: %v", name, why)
		}
	}
}

// TestVerifiedIsBounded: of seals that were seen no more than so many are remembered.
func TestVerifiedIsBounded(t *testing.T) {
	t.Parallel()
	b := object1(t, writer("ours", keyOf(1)), storetest.New(t, "one", 1))
	o, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	v := verified{of: make(map[[sha256.Size]byte]struct{})}
	for i := range maxVerified {
		v.of[sha256.Sum256(u32(i))] = struct{}{}
	}
	for range 2 {
		if err := v.verify(o, o.seal(b).Head); err != nil || len(v.of) > maxVerified {
			t.Errorf("%d are remembered, %v", len(v.of), err)
		}
	}
}

// TestSmallBombs: a manifest, or a list of what an application uses, may not expand to as much as an entry.
func TestSmallBombs(t *testing.T) {
	t.Parallel()
	s := New(nil, Options{Tenant: "ours"})
	name, payload := make([]byte, sha256.Size), s.enc.EncodeAll(make([]byte, 1000), nil)
	for _, kind := range []string{kindManifest, kindApp} {
		for size, bad := range map[uint64]bool{1000: false, maxManifest + 1: true} {
			b := sealed(t, kind, name, payload, size, nil)
			if _, _, err := s.unseal(b, kind, name); errors.Is(err, errBomb) != bad || (err != nil) != bad {
				t.Errorf("%s of %d bytes: %v", kind, size, err)
			}
		}
	}
}

// TestGolden pins an object that was made by docs/FORMAT.md, with openssl and a frame of zstd written by
// hand; see testdata/golden.py.
func TestGolden(t *testing.T) {
	t.Parallel()
	name := key.Digest(sha256.Sum256([]byte("name")))
	content := []byte("manifest\x00 of\r\n a unit")
	golden := goldenObject(t)
	s := New(one{b: golden}, Options{Tenant: "team-1", Trust: trust.Of(publicOf(keyOf(1)))})
	got, err := s.GetBlob(t.Context(), store.Manifests, name)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%q, %v", got, err)
	}
	o, err := parse(golden)
	if err != nil {
		t.Fatal(err)
	}
	if o.builder != "release, 2026" || !o.createdAt().Equal(time.Date(2026, 11, 26, 10, 0, 0, 5, time.UTC)) {
		t.Errorf("built by %q at %v", o.builder, o.createdAt())
	}
	again := seal(head{
		tenant: "team-1", kind: kindManifest, name: name[:], decompressed: uint64(len(content)), content: sha256.Sum256(content),
		builder: "release, 2026", created: time.Date(2026, 11, 26, 10, 0, 0, 5, time.UTC).UnixNano(),
	}, o.payload, keyOf(1))
	if !bytes.Equal(again, golden) {
		t.Errorf("made anew it is\n%x, not\n%x", again, golden)
	}
}

// TestLayoutHoldsTheFormats: objects of one layout hold .bin and .src of one version, or two versions of
// kernstash would replace each other's.
func TestLayoutHoldsTheFormats(t *testing.T) {
	t.Parallel()
	if layout != "v1" || version != 1 || format.Version != 4 {
		t.Errorf("layout %s, objects of version %d, formats of version %d: a change of one is a change of the layout", layout, version, format.Version)
	}
}

// FuzzEnvelope: what is accepted is encoded to the same bytes, and with a list of trusted keys nothing but
// what was signed is.
func FuzzEnvelope(f *testing.F) {
	e := storetest.New(f, "one", 40)
	good, plain := object1(f, writer("ours", keyOf(1)), e), object1(f, writer("ours", nil), e)
	f.Add(good, true)
	f.Add(plain, true)
	f.Add(plain, false)
	f.Add(goldenObject(f), false)
	f.Add([]byte(magic), false)
	f.Fuzz(func(t *testing.T, b []byte, reseal bool) {
		o, err := parse(b)
		if err != nil {
			return
		}
		if !bytes.Equal(forged(t, b, func(*object) {}), b) {
			t.Error("another encoding of the same object was accepted")
		}
		if reasonFor(t, reader(b), e.Key) == 0 && !bytes.Equal(b, good) {
			t.Error("what nobody signed is served")
		}
		if !reseal {
			return
		}
		// Somebody who is trusted signs nonsense: still nothing but a hit or a miss.
		h := o.head
		h.tenant, h.kind, h.name = "ours", kindEntry, nameOf(e.Key)
		b = seal(h, o.payload, keyOf(1))
		if got, err := reader(b).Fetch(t.Context(), e.Key); err == nil && (got.Key != e.Key || got.Recipe.Key() != e.Key) {
			t.Error("an entry of another key")
		}
	})
}

// FuzzSeal: nothing but what was signed vouches for an entry.
func FuzzSeal(f *testing.F) {
	e := storetest.New(f, "one", 40)
	s := New(nil, Options{Tenant: "ours", Sign: keyOf(1), Trust: trust.Of(publicOf(keyOf(1)))})
	s.nowTime = func() time.Time { return time.Unix(0, 7) } // the fuzzer's processes sign alike
	if err := s.Seal(e); err != nil {
		f.Fatal(err)
	}
	b, err := format.EncodeBin(e.Key, e.Artifact)
	if err != nil {
		f.Fatal(err)
	}
	bin := joined(b.Parts...)
	f.Add(e.Seal.Head)
	f.Add(e.Seal.Head[:len(e.Seal.Head)-96])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, head []byte) {
		if err := s.Vet(e.Key, head, bytes.NewReader(bin)); (err == nil) != bytes.Equal(head, e.Seal.Head) {
			t.Errorf("%v", err)
		}
		_, _ = Signer(head)
	})
}

// BenchmarkOpen is what a hit of 50 KB costs once its object is there, beside what it cannot do without.
func BenchmarkOpen(b *testing.B) {
	e := storetest.New(b, "one", 50_000)
	signed := object1(b, writer("ours", keyOf(1)), e)
	s := reader(signed)
	o, err := parse(signed)
	if err != nil {
		b.Fatal(err)
	}
	bare := func() error {
		if !ed25519.Verify(o.signer, message(o.raw), o.signature) {
			return errors.New("wrong signature")
		}
		_, err := s.z.DecodeAll(o.payload, make([]byte, 0, o.decompressed))
		return err
	}
	digest := func() error {
		if sha256.Sum256(o.payload) != o.digest {
			return errors.New("wrong digest")
		}
		return nil
	}
	var least [3]time.Duration
	for b.Loop() {
		for i, f := range []func() error{
			func() error { _, _, err := s.open(signed, e.Key, false); return err },
			bare, digest,
		} {
			start := time.Now()
			if err := f(); err != nil {
				b.Fatal(err)
			}
			if took := time.Since(start); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	b.ReportMetric(float64(least[0])/float64(least[1]), "open/bare")
	b.ReportMetric(float64(least[0])/1e3, "µs-open")
	b.ReportMetric(float64(least[1])/1e3, "µs-bare")
	b.ReportMetric(float64(least[2])/1e3, "µs-sha256")
	b.ReportMetric(float64(least[0])/float64(least[1]+least[2]), "open/(bare+sha256)")
	b.ReportMetric(float64(len(signed)), "bytes")
	b.ReportMetric(0, "ns/op")
}

func goldenObject(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.hex")
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestObjectsOfAnotherForm: one way to write an object is read, and no other.
func TestObjectsOfAnotherForm(t *testing.T) {
	t.Parallel()
	name := make([]byte, 160)
	d := documented{tenant: "ours", kind: "entry", name: name, builder: "ci", payload: []byte("x"), decompressed: 1}
	if _, err := parse(d.bytes()); err != nil {
		t.Fatal(err)
	}
	with := func(change func(*documented)) []byte {
		d := d
		change(&d)
		return d.bytes()
	}
	// raw returns an object of these fields and this length of the head, and what follows it.
	raw := func(h int, fields []byte, behind ...byte) []byte {
		return joined([]byte("kstobj\r\n"), u32(1), u32(h), fields, behind)
	}
	o, err := parse(d.bytes())
	if err != nil {
		t.Fatal(err)
	}
	fields := o.raw[16:]
	behind := []byte{0, 0, 0, 0, 'x'}
	if _, err := parse(raw(16+len(fields), fields, behind...)); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		b    []byte
		want error
	}{
		"an unknown kind":               {with(func(d *documented) { d.kind = "lease" }), format.ErrMalformed},
		"an entry with a short name":    {with(func(d *documented) { d.name = name[:32] }), format.ErrMalformed},
		"a manifest with a long name":   {with(func(d *documented) { d.kind = "manifest" }), format.ErrMalformed},
		"a long builder":                {with(func(d *documented) { d.builder = strings.Repeat("b", 257) }), format.ErrMalformed},
		"a builder that is no text":     {with(func(d *documented) { d.builder = "\xff" }), format.ErrMalformed},
		"a head that is too long":       {with(func(d *documented) { d.tenant = strings.Repeat("a", 4096) }), format.ErrMalformed},
		"bytes behind the fields":       {raw(17+len(fields), append(bytes.Clone(fields), 0), behind...), format.ErrMalformed},
		"no field":                      {raw(16, nil, behind...), format.ErrMalformed},
		"a head that ends before it":    {raw(15, fields, behind...), format.ErrMalformed},
		"a field less":                  {raw(16+len(fields)-12, fields[:len(fields)-12], behind...), format.ErrMalformed},
		"a time of four bytes":          {raw(16+len(fields)-4, append(append(bytes.Clone(fields[:len(fields)-12]), u32(4)...), 1, 2, 3, 4), behind...), format.ErrMalformed},
		"a digest of 31 bytes":          {raw(16+len(fields)-1, bytes.Replace(fields, append(u32(32), o.digest[:]...), append(u32(31), o.digest[1:]...), 1), behind...), format.ErrMalformed},
		"a length less than it has":     {raw(16+len(fields), bytes.Replace(fields, append(u32(32), o.digest[:]...), append(u32(31), o.digest[:]...), 1), behind...), format.ErrMalformed},
		"a signature of 5 bytes":        {raw(16+len(fields), fields, 5, 0, 0, 0, 1, 2, 3, 4, 5, 'x'), format.ErrMalformed},
		"a signature that is cut":       {raw(16+len(fields), fields, append(u32(96), make([]byte, 95)...)...), format.ErrTruncated},
		"no signature's length":         {raw(16+len(fields), fields, 0, 0, 0), format.ErrTruncated},
		"more payload than it says":     {raw(16+len(fields), fields, 0, 0, 0, 0, 'x', 'y'), format.ErrTruncated},
		"less payload than it says":     {raw(16+len(fields), fields, 0, 0, 0, 0), format.ErrTruncated},
		"an older version":              {append(append([]byte("kstobj\r\n"), u32(0)...), d.bytes()[12:]...), format.ErrVersion},
		"a length of the head, no more": {raw(200, nil), format.ErrTruncated},
	} {
		if _, err := parse(tt.b); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", what, err, tt.want)
		}
	}
}

// TestTrustedNonsense: what somebody who is trusted has signed, and no store writes, is a miss.
func TestTrustedNonsense(t *testing.T) {
	t.Parallel()
	e, other := storetest.New(t, "one", 40), storetest.New(t, "two", 40)
	encode := func(e *store.Entry) (bin, src []byte) {
		b, err := format.EncodeBin(e.Key, e.Artifact)
		if err != nil {
			t.Fatal(err)
		}
		if src, err = format.EncodeSrc(e.Recipe); err != nil {
			t.Fatal(err)
		}
		return joined(b.Parts...), src
	}
	bin, src := encode(e)
	otherBin, otherSrc := encode(other)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		content       []byte
		get, fetching reason.Reason
	}{
		"good":                   {joined(u64(uint64(len(bin))), bin, src), 0, 0},
		"the recipe of another":  {joined(u64(uint64(len(bin))), bin, otherSrc), 0, reason.MissUntrusted},
		"the code of another":    {joined(u64(uint64(len(otherBin))), otherBin, src), reason.MissUntrusted, reason.MissUntrusted},
		"no recipe":              {joined(u64(uint64(len(bin))), bin), 0, reason.MissTruncated},
		"more behind the recipe": {joined(u64(uint64(len(bin))), bin, src, []byte{0}), 0, reason.MissTruncated},
		"a length past the end":  {joined(u64(uint64(len(bin)+len(src)+1)), bin, src), reason.MissTruncated, reason.MissTruncated},
		"a length that is huge":  {joined(u64(1<<63), bin, src), reason.MissTruncated, reason.MissTruncated},
		"code that is cut":       {joined(u64(uint64(len(bin)-1)), bin, src), reason.MissTruncated, reason.MissTruncated},
		"seven bytes":            {make([]byte, 7), reason.MissTruncated, reason.MissTruncated},
		"nothing":                {nil, reason.MissTruncated, reason.MissTruncated},
	} {
		b := sealed(t, kindEntry, nameOf(e.Key), z.EncodeAll(tt.content, nil), uint64(len(tt.content)), keyOf(1))
		if why := reasonFor(t, reader(b), e.Key); why != tt.get {
			t.Errorf("%s: get: %v, want %v", what, why, tt.get)
		}
		var m *store.MissError
		_, err := reader(b).Fetch(t.Context(), e.Key)
		if errors.As(err, &m); err != nil && m.Reason != tt.fetching || (err == nil) != (tt.fetching == 0) {
			t.Errorf("%s: fetch: %v, want %v", what, err, tt.fetching)
		}
	}
	// A manifest holds no name of its own, so that of the head has to be signed.
	manifest := sealed(t, kindManifest, other.Key.Sum[:], z.EncodeAll([]byte("content"), nil), 7, keyOf(1))
	for what, name := range map[string]key.Digest{"as it was signed": other.Key.Sum, "renamed": e.Key.Sum} {
		b := forged(t, manifest, func(o *object) { o.name = name[:] })
		if _, err := reader(b).GetBlob(t.Context(), store.Manifests, name); (err == nil) != (name == other.Key.Sum) {
			t.Errorf("a manifest %s: %v", what, err)
		}
	}
	for _, n := range []uint64{6, 8} {
		b := sealed(t, kindManifest, e.Key.Sum[:], z.EncodeAll([]byte("content"), nil), n, keyOf(1))
		if got, err := reader(b).GetBlob(t.Context(), store.Manifests, e.Key.Sum); err == nil {
			t.Errorf("a manifest of 7 bytes that says %d: %q", n, got)
		}
	}
	unsigned := missOf(t, reader(object1(t, writer("ours", nil), e)), e.Key)
	if !strings.Contains(unsigned.Error(), "there is no signature") {
		t.Errorf("not signed: %v", unsigned)
	}
}
