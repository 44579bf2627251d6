package launch

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
)

// What package spool writes: the name of a job's file is the program's key, 32
// digits, then words. These are looked at without that package, which does much more.
const (
	spoolDigits  = 32
	shortDigits  = 12 // of a key in a report
	refusedWord  = "refused"
	reasonMark   = "# "
	refusedBytes = 4 << 10                 // that begin the file of a refused job: the reason
	refusedFor   = 14 * 24 * time.Hour     // as long as a job is not taken again
	gaveUp       = "a worker gave it up"   // and the reason
	notYet       = "it waits for a worker" // since an earlier run
	notDone      = "a worker has not done it yet"
	maxNote      = 256 << 10
)

// explain replaces the reason of programs that were compiled because the worker, whose
// work they are, has not done it. begun is when the run began: what was left to the
// worker since is no reason for it.
func explain(s *runlog.Summary, root string, begun time.Time) {
	meta := filepath.Join(root, ".meta")
	why := spooled(filepath.Join(meta, "spool"), begun)
	for key, reason := range failed(filepath.Join(meta, "worker")) {
		if why[key] == notYet {
			why[key] = notDone + ": " + reason
		}
	}
	if len(why) == 0 {
		return
	}
	for i := range s.Programs {
		p := &s.Programs[i]
		text := why[p.Key]
		if text == "" || p.Outcome != runlog.Compiled || p.Reason != reason.MissAbsent.String() {
			continue
		}
		recount(s, cmp.Or(p.Nearest, p.Reason), text, p.Requests)
		p.Nearest = text
	}
}

// recount moves n programs from one reason to another.
func recount(s *runlog.Summary, from, to string, n int) {
	for _, move := range []runlog.Count{{What: from, N: -n}, {What: to, N: n}} {
		i := slices.IndexFunc(s.Compiles, func(c runlog.Count) bool { return c.What == move.What })
		if i < 0 {
			i, s.Compiles = len(s.Compiles), append(s.Compiles, runlog.Count{What: move.What})
		}
		s.Compiles[i].N += move.N
	}
	s.Compiles = slices.DeleteFunc(s.Compiles, func(c runlog.Count) bool { return c.N <= 0 })
	slices.SortFunc(s.Compiles, func(a, b runlog.Count) int { return cmp.Or(b.N-a.N, cmp.Compare(a.What, b.What)) })
}

// spooled says, by the short form of keys, why a worker has not built a program.
func spooled(dir string, begun time.Time) map[string]string {
	why := make(map[string]string)
	environments, _ := os.ReadDir(dir)
	for _, e := range environments {
		if !e.IsDir() {
			continue
		}
		files, _ := os.ReadDir(filepath.Join(dir, e.Name()))
		for _, f := range files {
			words := strings.Split(f.Name(), ".")
			info, err := f.Info()
			if err != nil || !f.Type().IsRegular() || len(words[0]) != spoolDigits {
				continue
			}
			key := words[0][:shortDigits]
			switch {
			case len(words) == 2 && why[key] == "" && info.ModTime().Before(begun):
				why[key] = notYet
			case len(words) == 3 && words[2] == refusedWord && time.Since(info.ModTime()) < refusedFor:
				if reason, is := refusal(filepath.Join(dir, e.Name(), f.Name())); is {
					why[key] = strings.TrimSuffix(gaveUp+": "+reason, ": ")
				}
			}
		}
	}
	return why
}

// failed says, by the short form of keys, why the last workers did not do a job that they
// kept: what they said of themselves, the latest first.
func failed(note string) map[string]string {
	f, err := openRegular(note)
	if err != nil {
		return nil
	}
	defer f.Close()
	var said struct {
		Last []struct{ Job, State, Reason string } `json:"last"`
	}
	if json.NewDecoder(io.LimitReader(f, maxNote)).Decode(&said) != nil {
		return nil
	}
	why, seen := make(map[string]string), make(map[string]bool)
	for _, e := range said.Last {
		if len(e.Job) < spoolDigits || seen[e.Job] {
			continue
		}
		seen[e.Job] = true
		if e.Reason != "" && (e.State == "failed" || e.State == "elsewhere") {
			why[e.Job[:shortDigits]] = e.Reason
		}
	}
	return why
}

// refusal returns the reason in the file of a refused job; is is false where only
// launches were refused.
func refusal(path string) (reason string, is bool) {
	f, err := openRegular(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	b := make([]byte, refusedBytes)
	n, _ := f.Read(b)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	return strings.CutPrefix(line, reasonMark)
}
