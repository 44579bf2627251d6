package bundle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestHostile: no bundle writes anywhere but below the directory, or leaves something there that its
// manifest does not name.
func TestHostile(t *testing.T) {
	t.Parallel()
	b, _ := create(t, bundle.Options{}, filled(t, storetest.New(t, "one", 1000)))
	good := contents(t, b)
	bin := ""
	for name := range good {
		if strings.HasSuffix(name, ".bin") {
			bin = name
		}
	}
	with := func(changes map[string]string) map[string]string {
		all := make(map[string]string)
		for name, text := range good {
			all[name] = text
		}
		for name, text := range changes {
			all[name] = text
		}
		return all
	}
	manifest := func(files ...bundle.File) string {
		b, err := json.Marshal(bundle.Manifest{Version: bundle.Version, Files: files})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	harvest := func(all ...bundle.Harvest) string {
		b, err := json.Marshal(bundle.Manifest{Version: bundle.Version, Harvests: all})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	sum := strings.Repeat("0", 64)
	less := with(nil)
	delete(less, bin)
	for name, of := range map[string][]byte{
		"empty":               {},
		"no archive":          []byte("not a bundle"),
		"truncated":           b[:len(b)/2],
		"another content":     pack(t, with(map[string]string{bin: good[bin][:len(good[bin])-1] + "x"})),
		"longer":              pack(t, with(map[string]string{bin: good[bin] + "x"})),
		"a file more":         pack(t, with(map[string]string{"zzz": "x"})),
		"a file less":         pack(t, less),
		"a link":              pack(t, with(map[string]string{bin: "link:/etc/passwd"})),
		"no signature's file": packed(t, []string{bundle.ManifestName, "VERSION"}, good),
		"another version":     pack(t, with(map[string]string{bundle.ManifestName: `{"bundle": 2}`})),
		"no manifest":         pack(t, with(map[string]string{bundle.ManifestName: `[]`})),
		"absolute":            pack(t, map[string]string{bundle.ManifestName: manifest(bundle.File{Path: "/tmp/x", SHA256: sum}), bundle.SignatureName: ""}),
		"upwards":             pack(t, map[string]string{bundle.ManifestName: manifest(bundle.File{Path: "../x", SHA256: sum}), bundle.SignatureName: ""}),
		"over itself":         pack(t, map[string]string{bundle.ManifestName: manifest(bundle.File{Path: "bundle.json", SHA256: sum}), bundle.SignatureName: ""}),
		"twice": pack(t, map[string]string{bundle.ManifestName: manifest(bundle.File{Path: "x", SHA256: sum},
			bundle.File{Path: "x", SHA256: sum}), bundle.SignatureName: ""}),
		"behind the archive": append(slices.Clone(b), pack(t, good)...),
		"jobs":               pack(t, map[string]string{bundle.ManifestName: manifest(bundle.File{Path: ".meta/spool/x", SHA256: sum}), bundle.SignatureName: ""}),
		"a file named .meta": pack(t, map[string]string{bundle.ManifestName: manifest(bundle.File{Path: ".meta", SHA256: sum}), bundle.SignatureName: ""}),
		"a cache named ..":   pack(t, map[string]string{bundle.ManifestName: harvest(bundle.Harvest{Name: ".."}), bundle.SignatureName: ""}),
		"a cache twice":      pack(t, map[string]string{bundle.ManifestName: harvest(bundle.Harvest{Name: "a"}, bundle.Harvest{Name: "a"}), bundle.SignatureName: ""}),
		"no variable": pack(t, map[string]string{bundle.ManifestName: harvest(bundle.Harvest{
			Name: "a", Variables: []bundle.Variable{{Name: "A=1; reboot; B"}},
		}), bundle.SignatureName: ""}),
		"negative": pack(t, map[string]string{bundle.ManifestName: manifest(bundle.File{Path: "x", Size: -1, SHA256: sum}), bundle.SignatureName: ""}),
	} {
		parent := t.TempDir()
		r, err := bundle.NewReader(bytes.NewReader(of), nil)
		if err == nil {
			err = r.Extract(t.Context(), filepath.Join(parent, "layer"))
			r.Close()
		}
		if err == nil || name != "empty" && name != "no archive" && name != "truncated" && !errors.Is(err, bundle.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(parent); len(left) > 0 {
			t.Errorf("%s left %v", name, left)
		}
	}
}

// TestBomb: what expands to more than the manifest says is not unpacked.
func TestBomb(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 300<<20)
	if _, err := bundle.NewReader(bytes.NewReader(pack(t, map[string]string{bundle.ManifestName: zeros, bundle.SignatureName: ""})), nil); !errors.Is(err, bundle.ErrInvalid) {
		t.Errorf("300 MB of manifest: %v", err)
	}
}

// TestEmptyElements: a manifest takes little more memory than its bytes do. It measures that, so it runs alone.
func TestEmptyElements(t *testing.T) {
	for _, list := range []string{"devices", "entries", "files", "harvested"} {
		const n = 1 << 22 // 12 MB of manifest, up to 600 MB of elements
		manifest := `{"bundle": 1, "` + list + `": [{}` + strings.Repeat(",{}", n) + `]}`
		b := pack(t, map[string]string{bundle.ManifestName: manifest, bundle.SignatureName: ""})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := bundle.NewReader(bytes.NewReader(b), nil)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, bundle.ErrInvalid) || got > 200<<20 {
			t.Errorf("%d empty %s: %v, %d bytes were allocated", n, list, err, got)
		}
	}
}
