package contents

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/ownmounts"
)

const (
	oneBoot     = "e7427bf0-8fa6-40db-a436-849e94e14651"
	anotherBoot = "e7427bf0-8fa6-40db-a436-849e94e14652"
)

// A digest that was found on one mount holds there only, and one that was found where stamps
// are believed does not hold on a mount.
func TestDigestsOfOneMount(t *testing.T) {
	t.Parallel()
	file := place{"/a file", Stamp{Device: 1, Inode: 2, Size: 3, Mtime: 4, Ctime: 5}}
	own := func(mount string) []byte {
		from := table{digests: map[place]digest{file: {text: sum("it"), mount: mount, share: true}}}
		return from.text()
	}
	for name, tt := range map[string]struct {
		of, on string
		want   bool
	}{
		"the same mount":               {oneBoot + "/2147483676", oneBoot + "/2147483676", true},
		"another mount":                {oneBoot + "/2147483676", oneBoot + "/2147483677", false},
		"another boot":                 {oneBoot + "/2147483676", anotherBoot + "/2147483676", false},
		"no mount":                     {"", "", true},
		"of a mount, and not on one":   {oneBoot + "/2147483676", "", false},
		"on a mount, and not of one":   {"", oneBoot + "/2147483676", false},
		"a mount of an unknown boot":   {"/1", "/1", false},
		"a mount of an unknown number": {oneBoot + "/", oneBoot + "/", false},
	} {
		asks := table{unread: []Shared{&tableInMemory{own(tt.of)}}}
		if d, ok := asks.shared(file, tt.on); ok != tt.want || ok && d != sum("it") {
			t.Errorf("%s: %q, %v", name, d, ok)
		}
		// What was of use is written again as it was.
		if tt.want {
			asks.others = nil
			if got, want := string(asks.text()), string(own(tt.of)); got != want {
				t.Errorf("%s: written again as %q; it was %q", name, got, want)
			}
		}
	}
	// Of two tables each may know another mount.
	asks := table{unread: []Shared{&tableInMemory{own(anotherBoot + "/1")}, &tableInMemory{own(oneBoot + "/1")}}}
	if _, ok := asks.shared(file, oneBoot+"/1"); !ok {
		t.Error("the second table was not looked at")
	}
}

func TestNamesOfMounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		boot string
		id   uint64
		want string
	}{
		{oneBoot, 2147483676, oneBoot + "/2147483676"},
		{oneBoot, 0, ""},
		{"", 1, ""},
		{oneBoot + "\n", 1, ""},
		{oneBoot[1:] + " ", 1, ""},
		{oneBoot[1:] + "/", 1, ""},
	} {
		if got := mountOf(tt.boot, tt.id); got != tt.want {
			t.Errorf("%q, %d: %q", tt.boot, tt.id, got)
		}
	}
	for s, want := range map[string]bool{
		oneBoot + "/2147483676": true, oneBoot + "/0": false, oneBoot + "/01": false, oneBoot + "/-1": false, oneBoot: false,
		oneBoot + "/": false, oneBoot + "/1/2": false, "": false, "-": false, "/1": false, oneBoot + "/18446744073709551616": false,
	} {
		if got := isMount(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// The files of an image are read by one process, and again when another image is mounted at
// its place, although that shows the same stamps.
func TestDigestsOfAnImage(t *testing.T) {
	needs.Tool(t, "mksquashfs", "squashfs-tools")
	if !ownmounts.Here(t) {
		return
	}
	dir := t.TempDir()
	at := filepath.Join(dir, "at")
	file := filepath.Join(at, "libcompiler.so")
	image := func(content string) string {
		t.Helper()
		tree, image := filepath.Join(dir, "tree "+content), filepath.Join(dir, content)
		for _, d := range []string{tree, at} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(tree, "libcompiler.so"), content)
		pack := exec.Command("mksquashfs", tree, image, "-noappend", "-quiet", "-no-progress", "-all-root", "-processors", "1")
		pack.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1600000000")
		if out, err := pack.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return image
	}
	mounted := false
	mount := func(image string) {
		t.Helper()
		// mount(8) finds a loop device, and lets go of it with the file system.
		out, err := exec.Command("mount", "-t", "squashfs", "-o", "loop,ro", image, at).CombinedOutput()
		if err != nil && !mounted {
			t.Skipf("no squashfs here: %v: %s", err, out)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		mounted = true
	}
	unmount := func() {
		t.Helper()
		if err := unix.Unmount(at, 0); err != nil {
			t.Fatal(err)
		}
	}
	one, two := image("one"), image("two")
	// Whatever is mounted when the test fails: nothing is (EINVAL) after the last one.
	t.Cleanup(func() {
		for unix.Unmount(at, unix.MNT_DETACH) == nil {
		}
	})

	mount(one)
	if imageAt(file) == "" {
		var st unix.Statx_t
		err := unix.Statx(unix.AT_FDCWD, file, 0, unix.STATX_MNT_ID_UNIQUE, &st)
		if err == nil && st.Mask&unix.STATX_MNT_ID_UNIQUE != 0 {
			t.Fatal("the kernel has unique mount ids, and the image has no name")
		}
		t.Skip("the kernel has no unique mount ids (Linux 6.8): each process reads what lies on images")
	}
	before, err := Look(file)
	if err != nil {
		t.Fatal(err)
	}
	if isBelieved(file, before) {
		t.Fatal("the stamps of an image are believed")
	}
	var shared tableInMemory
	anotherProcess(t, &shared)
	if got := digestOf(t, file); got != sum("one") {
		t.Fatalf("digest %q", got)
	}
	if !unsaved.Load() {
		t.Error("a process that only finds does not save what it has read")
	}
	Save()
	first := string(shared.b)

	// That another process reads the table, and not the file, shows where the table lies.
	lie := table{digests: map[place]digest{{file, before}: {text: sum("lie"), mount: imageAt(file), share: true}}}
	shared.b = lie.text()
	anotherProcess(t, &shared)
	if got := digestOf(t, file); got != sum("lie") {
		t.Errorf("the table was not used: %q", got)
	}

	// Another image, the first one again, and one over the other: mounts of their own.
	for _, tt := range []struct {
		image, want string
		over        bool
	}{{two, "two", false}, {one, "one", false}, {two, "two", true}} {
		shared.b = []byte(first)
		if !tt.over {
			unmount()
		}
		mount(tt.image)
		if after, err := Look(file); err != nil || after.Inode != before.Inode || after.Size != before.Size || after.Ctime != before.Ctime {
			t.Logf("the stamps differ here, %+v and %+v: %v", before, after, err)
		}
		anotherProcess(t, &shared)
		if got := digestOf(t, file); got != sum(tt.want) {
			t.Errorf("%v: digest %q", tt, got)
		}
		// What was meant for another mount is not stored for this one.
		st, err := Look(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(file, st, oneBoot+"/1"); !errors.Is(err, errChanging) {
			t.Errorf("%v: read for another mount: %v", tt, err)
		}
	}
	// The table that the first process wrote holds for the first mount only.
	files, _ := checked([]byte(first)).parse()
	for k := range files {
		if k.path == file && (k.mount == "" || k.mount == imageAt(file)) {
			t.Errorf("the table holds %+v", k)
		}
	}
}
