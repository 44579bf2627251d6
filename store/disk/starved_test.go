//go:build linux

package disk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestOutOfDescriptors: a program that has none left over reads, counts and
// removes wrongly nothing. The limit is the process's, so another one plays.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	s := open(t)
	runAll(t, []*exec.Cmd{child(t, "starved", s.o.Dir, 6)})
	r := wantClean(t, s)
	if st := s.Status(); r.Entries != 6 || r.OtherVersions != 1 || st.Entries != 5 || st.Bytes != r.Bytes/6*5 {
		t.Errorf("%+v is left; the account says %d entries, %d bytes", r, st.Entries, st.Bytes)
	}
	if got, err := s.Stats(); err != nil || got != oneHit() {
		t.Errorf("statistics %v, %v", got, err)
	}
}

// roleStarved stores entries, makes the first one of another version, and
// sweeps with no descriptor left over, then with one, and so on.
func roleStarved(s *Store, entries int) error {
	for i := range entries {
		if _, err := s.Put(bg, storetest.New(noTest{}, fmt.Sprint("e", i), 1000)); err != nil {
			return err
		}
	}
	if err := s.AddStats(oneHit()); err != nil {
		return err
	}
	e0 := storetest.New(noTest{}, "e0", 1000).Key
	victims, err := s.victimsOf(e0)
	if err != nil {
		return err
	}
	// Now that it is somebody's to remove, it is of another version, and stays.
	if err := errors.Join(otherVersion(binPath(s, e0)), otherVersion(srcPath(s, e0))); err != nil {
		return err
	}
	if _, err := s.GC(bg, GCOptions{}, nil); err != nil {
		return err
	}
	before := s.Status()
	limit := syscall.Rlimit{Cur: 100, Max: 100}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	var held []int
	for {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		held = append(held, fd)
	}
	failed := 0
	for range 30 {
		_, gcErr := s.GC(bg, GCOptions{}, nil)
		_, verifyErr := s.Verify(bg, true, nil)
		for _, err := range []error{gcErr, verifyErr, s.countAndEvict(victims)} {
			if errors.Is(err, syscall.EMFILE) {
				failed++
			} else if err != nil {
				return err
			}
		}
		st := s.Status()
		if st.CountedAt = before.CountedAt; st != before {
			return fmt.Errorf("%d descriptors: status %+v, was %+v", len(held), st, before)
		}
		syscall.Close(held[0])
		held = held[1:]
	}
	if failed < 4 {
		return fmt.Errorf("%d runs failed, so nothing was tried", failed)
	}
	return nil
}

// victimsOf returns what the evictor would take of one key's leaf.
func (s *Store) victimsOf(k key.Key) ([]evict.Victim, error) {
	all, err := s.victims()
	return slices.DeleteFunc(all, func(v evict.Victim) bool { return hex.EncodeToString(v.Names[1][:]) != s.at.Names(k)[1] }), err
}

// countAndEvict counts, and then evicts what it is given.
func (s *Store) countAndEvict(victims []evict.Victim) error {
	_, err := s.victims()
	return errors.Join(err, s.evictThese(victims))
}

// otherVersion makes a file one of the next version, and keeps its time.
func otherVersion(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[8]++
	return errors.Join(os.WriteFile(path, b, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime()))
}
