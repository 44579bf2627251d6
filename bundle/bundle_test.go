package bundle_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
)

const header = "#define TWO 2\n"

// withHeader returns an entry whose source reads a header that was in a home directory.
func withHeader(t *testing.T) *store.Entry {
	t.Helper()
	rec := *storetest.Recipe(t, "#include \"two.h\"\nkernel void k() { /* TWO */ }", "-cl-mad-enable")
	digest := key.Digest(sha256.Sum256([]byte(header)))
	img, err := rec.Image.Tracked([]key.Unit{{
		Kind: key.OpenCLC, Code: rec.Image.Units()[0].Code, Includes: []key.Include{{Name: `"two.h"`}},
		Files: []key.File{{Path: "/home/ada/project/two.h", Digest: digest, Size: int64(len(header))}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	rec.Image = img
	rec.Options.Search = []string{"-I/home/ada/project"}
	rec.Options.Unkeyed = []key.Pair{{Name: "program", Value: "/home/ada/project/a.out"}}
	e := storetest.Entry(&rec, "with a header", 50_000)
	e.Headers = map[key.Digest][]byte{digest: []byte(header)}
	return e
}

// filled returns a cache with entries.
func filled(t *testing.T, entries ...*store.Entry) *disk.Store {
	t.Helper()
	d := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "cache")})
	t.Cleanup(func() { d.Close() })
	for _, e := range entries {
		if _, err := d.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func create(t *testing.T, o bundle.Options, from ...*disk.Store) ([]byte, *bundle.Manifest) {
	t.Helper()
	var b bytes.Buffer
	m, skipped, err := bundle.Create(t.Context(), from, o, &b)
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	return b.Bytes(), m
}

func read(t *testing.T, b []byte, trusted ...ed25519.PublicKey) *bundle.Reader {
	t.Helper()
	r, err := bundle.NewReader(bytes.NewReader(b), trusted)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func keys(t *testing.T) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// TestBundleIsALayer: what was unpacked hits as it stands, and what was imported does.
func TestBundleIsALayer(t *testing.T) {
	t.Parallel()
	entries := []*store.Entry{storetest.New(t, "one", 1000), storetest.New(t, "two", 200_000), withHeader(t)}
	b, m := create(t, bundle.Options{By: "0.1.0"}, filled(t, entries[0], entries[1]), filled(t, entries[1], entries[2]))
	if len(m.Entries) != 3 || len(m.Devices) != 1 || m.Devices[0].Name != storetest.Device().Name {
		t.Errorf("the manifest names %d entries of %v", len(m.Entries), m.Devices)
	}
	dir := filepath.Join(t.TempDir(), "layer")
	if err := read(t, b).Extract(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	layer := disk.New(disk.Options{Dir: dir, ReadOnly: true})
	own := filled(t)
	done, err := read(t, b).Import(t.Context(), own, nil)
	if err != nil || done.Stored != 3 || len(done.Skipped) > 0 {
		t.Errorf("imported: %+v, %v", done, err)
	}
	if r, err := bundle.OpenDir(dir, nil); err != nil {
		t.Error(err)
	} else if done, err = r.Import(t.Context(), own, nil); err != nil || done.Existing != 3 {
		t.Errorf("imported from the directory: %+v, %v", done, err)
	}
	for _, e := range entries {
		for name, d := range map[string]*disk.Store{"layer": layer, "import": own} {
			got, err := d.Get(t.Context(), e.Key)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if d := cmp.Diff(e.Artifact.Binaries, got.Artifact.Binaries); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
	}
	if b, err := layer.GetBlob(t.Context(), store.Headers, sha256.Sum256([]byte(header))); err != nil || string(b) != header {
		t.Errorf("the header: %q, %v", b, err)
	}
	if st := layer.Status(); !st.On || st.Reason != "" {
		t.Errorf("the layer: %+v", st)
	}
	rep, err := layer.Verify(t.Context(), false, nil)
	if err != nil || rep.Entries != 3 || rep.Damaged+rep.LostRecipes+rep.Orphans+rep.BadHeaders > 0 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

// TestSameEntriesSameBytes: whoever makes a bundle of the same entries makes the same one.
func TestSameEntriesSameBytes(t *testing.T) {
	t.Parallel()
	one, two := storetest.New(t, "one", 1000), withHeader(t)
	a, _ := create(t, bundle.Options{}, filled(t, one, two))
	b, _ := create(t, bundle.Options{}, filled(t, two), filled(t, one))
	if !bytes.Equal(a, b) {
		t.Error("two bundles of the same entries differ")
	}
}

// contents returns the bytes of all files of a bundle, as tar and zstd unpack them.
func contents(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := make(map[string]string)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = string(text)
	}
}

// TestNothingOfTheMachine: no file names a place of the machine, but for what was compiled.
func TestNothingOfTheMachine(t *testing.T) {
	t.Parallel()
	leaky := storetest.Entry(storetest.Recipe(t, "kernel void k() { /* of /scratch/eve/k.cl */ }", ""), "leaky", 10)
	b, _ := create(t, bundle.Options{}, filled(t, withHeader(t)))
	for name, text := range contents(t, b) {
		if strings.Contains(text, "/home/") || strings.Contains(text, "ada") {
			t.Errorf("%s tells of the machine", name)
		}
	}
	b, m := create(t, bundle.Options{}, filled(t, leaky, withHeader(t)))
	leaks, err := read(t, b).Leaks(t.Context(), "eve", "TWO", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	src := ""
	for _, e := range m.Entries {
		if e.Key == leaky.Key.String() {
			src = strings.TrimSuffix(e.Path, ".bin") + ".src"
		}
	}
	got := make(map[string]int)
	for _, l := range leaks {
		got[l.Text] = l.In
		if l.Text == "eve" && l.File != src {
			t.Errorf("%q is in %s, want %s", l.Text, l.File, src)
		}
	}
	if d := cmp.Diff(map[string]int{"/scratch/eve/k.cl": 1, "eve": 1, "TWO": 2}, got); d != "" {
		t.Errorf("leaks (-want +got):\n%s", d)
	}
}

func TestWithoutSource(t *testing.T) {
	t.Parallel()
	e := withHeader(t)
	b, m := create(t, bundle.Options{WithoutSource: true}, filled(t, e))
	for name, text := range contents(t, b) {
		if strings.HasSuffix(name, ".src") || strings.Contains(text, "TWO") {
			t.Errorf("%s is of the source", name)
		}
	}
	if m.Devices[0].Name != storetest.Device().Name {
		t.Errorf("the manifest names no device: %v", m.Devices)
	}
	dir := filepath.Join(t.TempDir(), "layer")
	if err := read(t, b).Extract(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.New(disk.Options{Dir: dir, ReadOnly: true}).Get(t.Context(), e.Key); err != nil {
		t.Error(err)
	}
	done, err := read(t, b).Import(t.Context(), filled(t), nil)
	if err != nil || len(done.Skipped) != 1 {
		t.Errorf("imported without its source: %+v, %v", done, err)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	a, b := storetest.New(t, "one", 1000), storetest.New(t, "two", 1000)
	_, m := create(t, bundle.Options{Select: func(i store.Info) bool { return i.Key == a.Key }}, filled(t, a, b))
	if len(m.Entries) != 1 || m.Entries[0].Key != a.Key.String() {
		t.Errorf("selected: %v", m.Entries)
	}
}

// TestDamagedEntriesStayBehind, and are told of.
func TestDamagedEntriesStayBehind(t *testing.T) {
	t.Parallel()
	good, bad := storetest.New(t, "one", 1000), storetest.New(t, "two", 1000)
	d := filled(t, good, bad)
	for info := range d.List(t.Context()) {
		if info.Key == bad.Key {
			path := filepath.Join(d.Dir(), info.Location)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)-1] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, skipped, err := bundle.Create(t.Context(), []*disk.Store{d}, bundle.Options{}, io.Discard)
	if err != nil || len(m.Entries) != 1 || len(skipped) != 1 {
		t.Errorf("%v, skipped %v, %v", m, skipped, err)
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	ours, private := keys(t)
	theirs, other := keys(t)
	e := storetest.New(t, "one", 1000)
	unsigned, _ := create(t, bundle.Options{}, filled(t, e))
	b, _ := create(t, bundle.Options{Sign: private}, filled(t, e))
	foreign, _ := create(t, bundle.Options{Sign: other}, filled(t, storetest.New(t, "two", 1000)))
	swapped := contents(t, b)
	swapped[bundle.SignatureName] = contents(t, foreign)[bundle.SignatureName]
	garbled := contents(t, b)
	garbled[bundle.ManifestName] = strings.Replace(garbled[bundle.ManifestName], `"by": ""`, `"by": "me"`, 1)
	for name, test := range map[string]struct {
		bundle  []byte
		trusted []ed25519.PublicKey
		want    error
		signer  ed25519.PublicKey
	}{
		"signed, trusted":         {bundle: b, trusted: []ed25519.PublicKey{theirs, ours}, signer: ours},
		"signed, no trust list":   {bundle: b, signer: ours},
		"unsigned, no trust list": {bundle: unsigned},
		"unsigned":                {bundle: unsigned, trusted: []ed25519.PublicKey{ours}, want: bundle.ErrUntrusted},
		"signed by others":        {bundle: foreign, trusted: []ed25519.PublicKey{ours}, want: bundle.ErrUntrusted},
		"another's signature":     {bundle: pack(t, swapped), want: bundle.ErrInvalid},
		"trusted, but of another": {bundle: pack(t, swapped), trusted: []ed25519.PublicKey{theirs}, want: bundle.ErrInvalid},
		"another manifest":        {bundle: pack(t, garbled), trusted: []ed25519.PublicKey{ours}, want: bundle.ErrInvalid},
	} {
		r, err := bundle.NewReader(bytes.NewReader(test.bundle), test.trusted)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if err == nil && !r.Signer.Equal(test.signer) {
			t.Errorf("%s: signed by %v", name, r.Signer)
		}
	}
}

// pack makes a bundle of files, the manifest and the signature first.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var names []string
	for name := range files {
		if name != bundle.ManifestName && name != bundle.SignatureName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return packed(t, append([]string{bundle.ManifestName, bundle.SignatureName}, names...), files)
}

func packed(t *testing.T, names []string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, name := range names {
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}
		if target, is := strings.CutPrefix(files[name], "link:"); is {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, target, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, files[name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestExtractReplacesNothing(t *testing.T) {
	t.Parallel()
	b, _ := create(t, bundle.Options{}, filled(t, storetest.New(t, "one", 1000)))
	dir := t.TempDir()
	if err := read(t, b).Extract(t.Context(), dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a directory: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := read(t, b).Extract(ctx, filepath.Join(dir, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("not a bundle"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// The archive is made here: to find good zstd and tar by chance takes long.
		manifest, rest, _ := bytes.Cut(b, []byte("\x00"))
		r, err := bundle.NewReader(bytes.NewReader(pack(t, map[string]string{
			bundle.ManifestName: string(manifest), bundle.SignatureName: "", "x": string(rest),
		})), nil)
		if err != nil {
			return
		}
		defer r.Close()
		_ = r.Each(t.Context(), func(_ bundle.File, r io.Reader) error { _, err := io.ReadAll(r); return err })
	})
}
