//go:build !nogpu

package dl

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// C code may change its variables while they are copied: what comes is old or new, and whole.
func TestStringsOfAListThatChanges(t *testing.T) {
	t.Parallel()
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	const words = 4
	list := (*[words]uintptr)(unsafe.Pointer(&b[0]))
	place := func(at int, s string) uintptr {
		copy(b[at:], s+"\x00")
		return uintptr(unsafe.Pointer(&b[at]))
	}
	last, long := "LAST=it", "CHANGES="+strings.Repeat("long ", 100)
	values := []uintptr{place(1024, long), place(2048, "CHANGES=short"), 0}
	list[0], list[1] = place(512, last), values[0]

	var done atomic.Bool
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := 0; !done.Load(); i++ {
			atomic.StoreUintptr(&list[1], values[i%len(values)])
		}
	})
	defer changing.Wait()
	defer done.Store(true)
	for range 20000 {
		all := StringsAt(uintptr(unsafe.Pointer(&b[0])))
		if len(all) < 1 || len(all) > 2 || all[0] != last || len(all) == 2 && all[1] != long && all[1] != "CHANGES=short" {
			t.Fatalf("%q", all)
		}
	}
}

// What is there now is copied: also where a value was changed in place, to one as long, or where the
// list has another order, or more, or less. What was copied before stays as it was.
func TestStringsOfAListThatHasChanged(t *testing.T) {
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	list := (*[5]uintptr)(unsafe.Pointer(&b[0]))
	at := uintptr(unsafe.Pointer(&b[0]))
	one, two, three := b[1024:], b[2048:], b[3072:]
	set := func(words ...[]byte) {
		clear(list[:])
		for i, w := range words {
			list[i] = uintptr(unsafe.Pointer(&w[0]))
		}
	}
	check := func(what string, want ...string) []string {
		t.Helper()
		got := StringsAt(at)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		return got
	}
	copy(one, "A=1\x00")
	copy(two, "B=2\x00")
	copy(three, "C=3\x00")
	set(one, two)
	first := check("first", "A=1", "B=2")
	copy(one, "A=7\x00")
	check("changed in place", "A=7", "B=2")
	if !slices.Equal(first, []string{"A=1", "B=2"}) {
		t.Errorf("what was returned has changed: %q", first)
	}
	set(two, one)
	check("another order", "B=2", "A=7")
	set(two, one, three)
	check("one more", "B=2", "A=7", "C=3")
	set(two)
	check("less", "B=2")
	copy(two, "B=22\x00")
	check("longer in place", "B=22")
	copy(two, "B=2\x00")
	check("shorter in place", "B=2")
	set()
	check("none")
}

// What the loader says is said to the one who asked, whatever others ask meanwhile.
func TestErrorsOfManyThatOpen(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			name := fmt.Sprintf("libkernstash-none-%d.so", i)
			for range 200 {
				if _, err := loaded(name); err != nil && err.Error() != "" && !strings.Contains(err.Error(), name+":") {
					t.Errorf("%s: %v", name, err)
					return
				}
				if _, err := open(name); err == nil || !strings.Contains(err.Error(), name+":") {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	all.Wait()
}
