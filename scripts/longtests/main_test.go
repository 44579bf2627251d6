package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = `package p

func TestMain(m *testing.M)    { Long() }
func TestAsks(t *testing.T)    { timing.Long(t) }
func TestByHelper(t *testing.T) { one(t) }
func one(t *testing.T)         { new(stage).two() }
func (s *stage) two()          { if timing.IsLong() {} }
func TestByName(t *testing.T)  { os.Getenv("KERNSTASH_TEST_LONG") }
func TestShort(t *testing.T)   { three() }
func three()                   {}
`
	if err := os.WriteFile(filepath.Join(dir, "p_test.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := find([]string{dir})
	if want := []string{"TestAsks", "TestByHelper", "TestByName"}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if got, err := find([]string{t.TempDir()}); err == nil {
		t.Errorf("nothing: %q", got)
	}
}
