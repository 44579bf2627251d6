package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Another value, kind or order of a variant is another entry, and so is another
// program, context, source or library version; no variants are legal.
func TestLookupVariants(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("variants") })
}

func TestLookupInAnotherProcess(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) {
		h.run("absent")
		h.run("populated")
		h.run("found")
	})
}

// Without a place for the cache nothing is found, no file is made, and nothing
// fails.
func TestLookupWithoutEnvironment(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		h.without("HOME", "KERNSTASH_DIR")
		h.run("absent")
		if left, err := os.ReadDir(h.dir); err != nil || len(left) > 0 {
			t.Errorf("%v left behind: %v", left, err)
		}
	})
}

// The directory of the user is where it is by default, and a miss makes nothing in
// it.
func TestLookupInTheUsersDirectory(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		h.without("KERNSTASH_DIR")
		if err := os.Mkdir(filepath.Join(h.dir, "home"), 0o700); err != nil {
			t.Fatal(err)
		}
		h.run("populated")
		h.run("found")
		if got := entries(t, filepath.Join(h.dir, "home", ".cache", "kernstash")); len(got) != 1 {
			t.Errorf("entries %v, want 1", got)
		}
	})
}

// KERNSTASH_DIR moves what all share, not what an application has for itself.
func TestPrivateDirectory(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		h.run("private_directory")
		for _, dir := range []string{"own", "shared"} {
			if got := entries(t, filepath.Join(h.dir, dir)); len(got) != 1 {
				t.Errorf("%s: entries %v, want 1", dir, got)
			}
		}
	})
}

func TestLookupPopulatedTwice(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("twice") })
}

func TestLookupBettered(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("bettered") })
}

func TestLookupRefusedByTheDriver(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("refused") })
}

// Another driver's version has another directory.
func TestLookupOfAnotherDriver(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		for _, dir := range strings.Fields(h.run("drivers")) {
			if got := entries(t, h.root); len(got) != 2 {
				t.Fatalf("entries %v, want 2", got)
			}
			if _, err := os.Stat(filepath.Join(h.root, dir)); err != nil {
				t.Error(err)
			}
		}
	})
}

// A truncated entry, an empty one, one with a bit flipped: misses, which the next
// populate repairs.
func TestLookupDamagedEntry(t *testing.T) {
	damage := map[string]func(b []byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"truncated": func(b []byte) []byte { return b[:len(b)/2] },
		"cut":       func(b []byte) []byte { return b[:len(b)-1] },
		"longer":    func(b []byte) []byte { return append(b, 0) },
		"flipped":   func(b []byte) []byte { b[len(b)-2] ^= 1; return b },
	}
	hosts(t, func(t *testing.T, h *host) {
		h.run("populated")
		for name, f := range damage {
			path := entries(t, h.root)[0]
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f(b), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Log(name)
			h.run("absent")
			h.run("populated")
			h.run("found")
		}
	})
}

// A directory that cannot be made disables that cache only; a private directory
// with a limit of its own works beside it.
func TestLookupUncreatableDirectory(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		h.without("KERNSTASH_DIR")
		h.run("uncreatable")
		if got := entries(t, filepath.Join(h.dir, "private")); len(got) != 1 {
			t.Errorf("entries %v, want 1", got)
		}
	})
}

// The operator's limit wins over the program's own: what is larger than that is stored.
func TestLookupOperatorHasTheLastWord(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		out, err := h.command("uncreatable", "KERNSTASH_MAX_SIZE=1GiB").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "not KERNSTASH_NOT_STORED") {
			t.Errorf("%v: %s", err, out)
		}
		if got := entries(t, filepath.Join(h.dir, "private")); len(got) != 2 {
			t.Errorf("entries %v, want 2", got)
		}
	})
}

// Sources that read other files are a key only with a library version, those with
// the date never.
func TestLookupSources(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("sources") })
}

// NULL, sizes, orders of calls that make no sense: refused, and the next call is as
// good as ever.
func TestLookupRefusesNonsense(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("refuses") })
}

// A panic in Go is an error of one call, and get-or-build builds.
func TestLookupSurvivesPanics(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("panics") })
}

func TestLookupBadSetting(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("bad_setting", "KERNSTASH_MAX_SIZE=lots") })
}

// What the program itself puts into its environment counts.
func TestLookupSettingsSetLate(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		h.run("late_setting")
		if got := entries(t, filepath.Join(h.dir, "late")); len(got) != 1 {
			t.Errorf("entries %v, want 1", got)
		}
	})
}

func TestLookupDisabled(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		h.run("disabled", "KERNSTASH_DISABLE=1")
		if _, err := os.Stat(h.root); err == nil {
			t.Error("the root was made")
		}
	})
}
