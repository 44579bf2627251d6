//go:build unix

package compile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/trace"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/ctime"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// tracing serves a compiler that starts others: which files a run of it reads is known when it has
// ended. Manifests say it, under a first key, which is of all but the files.
type tracing struct {
	*run
	cache   *cache.Cache
	session *engine.Session
	request engine.Request // without the files
	unit    key.Unit       // likewise
	first   key.Key
	record  func(engine.Decision) // takes what is not stored to the records
	blobs   store.Blobs           // nil: none
}

// host answers the engine for a run.
type host struct {
	cache.Process
	*run
}

// serveTraced is serve for such a compiler.
func (r *run) serveTraced(c *cache.Cache) error {
	for _, name := range refused {
		if os.Getenv(name) != "" {
			return errors.New(name + " is set")
		}
	}
	dir, err := os.Getwd() // as PWD has it: debug information, too
	if err != nil {
		return err
	}
	t := &tracing{run: r, cache: c, unit: key.Unit{Kind: r.kind, Code: r.code}}
	t.session = c.Engine().Session(host{run: r}, engine.SessionOptions{OptionsAsGiven: true})
	real, err := filepath.EvalSymlinks(r.program) // where it finds its own programs
	if err != nil {
		return err
	}
	t.request.Attributes = append(slices.Clone(r.attributes), key.Pair{Name: "directory", Value: dir}, key.Pair{Name: "directory", Value: absolute(".")},
		key.Pair{Name: "program", Value: r.args[0]}, key.Pair{Name: "program", Value: absolute(r.program)}, key.Pair{Name: "program", Value: absolute(real)})
	g, err := t.begin(t.unit, nil)
	if err != nil {
		return err
	}
	t.first, t.record = g.Job().Key, g.Record
	t.blobs, _ = c.Store().(store.Blobs)
	if t.find() {
		return r.deliver(r.found)
	}
	if t.blobs == nil || !c.Writes() {
		return errors.New("it is not there, and the cache is not written")
	}
	ctx := context.Background()
	unlock, err := c.Store().Lock(ctx, t.first, 0)
	switch {
	case err == nil:
		defer unlock()
		if t.find() { // stored between our look and our lock
			return r.deliver(r.found)
		}
	case errors.Is(err, store.ErrLocked):
		c.Count(stats.DiskWaits, 1)
		// Which entry comes depends on what the other one reads.
		if unlock, err = c.Store().Lock(store.WithWanted(ctx, key.Key{}), t.first, longestWait); err == nil {
			unlock() // where nothing was kept, those who waited compile side by side
		}
		if t.find() {
			return r.deliver(r.found)
		}
	}
	return t.build(ctx)
}

// longestWait is how long one waits for the process that compiles the same.
const longestWait = time.Minute

// begin begins the transaction of a unit, with what is not in it of its files.
func (t *tracing) begin(u key.Unit, m *manifest.Manifest) (*engine.Group, error) {
	image, err := new(key.Image).Tracked([]key.Unit{u})
	if err != nil {
		return nil, err
	}
	r := t.request.Clone()
	r.Image = engine.NewImage(image)
	if m != nil {
		h := sha256.New()
		for _, l := range m.Looks() {
			if !l.Absent && programs().MatchString(filepath.Base(l.Path)) { // it finds others from where it is, if it may be executed
				real, _ := filepath.EvalSymlinks(l.Path)
				fmt.Fprintln(h, l.Path, real, unix.Access(real, unix.X_OK))
			}
			if t.timed {
				fmt.Fprintln(h, l.Path, l.Absent, l.Size, l.Modified)
			}
		}
		r.Attributes = append(r.Attributes, key.Pair{Name: "state of files", Value: fmt.Sprintf("%x", h.Sum(nil))})
	}
	return t.session.BeginOn(r, 0)
}

const (
	// manifests is how many states of the files are remembered for one first key.
	manifests = 8
	// rules is raised when a run is found to depend on more than was known: manifests by the old ones are
	// forgotten.
	rules = 2
)

// name returns the name of one of the manifests.
func (t *tracing) name(i int) key.Digest {
	return sha256.Sum256(fmt.Appendf(nil, "kernstash traced\x00%d %d %d %x", manifest.Version, rules, i, t.first.Sum))
}

// find looks for what was made of the files as they are.
func (t *tracing) find() bool {
	if t.blobs == nil || t.cache.Settings().Mode == settings.ModeRefresh {
		return false
	}
	ctx := context.Background()
	for i := range manifests {
		b, err := t.blobs.GetBlob(ctx, store.Manifests, t.name(i))
		if err != nil {
			continue
		}
		m, err := manifest.Parse(b, t.name(i))
		if err != nil {
			t.cache.Count(stats.Corrupt, 1)
			continue
		}
		renewed, changed := m.Check()
		if changed != "" {
			t.stale = cmp.Or(t.stale, changed+" changed since what is kept was made")
			continue
		}
		t.cache.Count(stats.HeadersChecked, 1)
		if renewed && t.cache.Writes() {
			_ = t.blobs.PutBlob(ctx, store.Manifests, t.name(i), m.Append(nil, t.name(i)))
		}
		g, err := t.begin(m.Before(t.unit), m)
		if err != nil {
			continue
		}
		if t.run.found, err = g.Stored(ctx); err == nil {
			t.key = g.Job().Key.Short()
			return true
		}
		t.stale = "what was kept is gone"
	}
	return false
}

// build runs the compiler, and keeps what it makes.
func (t *tracing) build(ctx context.Context) error {
	t.settle()
	before, err := list(slices.Concat(temporaries(), searched(), []string{".", filepath.Dir(t.input), filepath.Dir(t.output), filepath.Dir(t.depends)})...)
	if err != nil {
		return err
	}
	began := time.Now()
	var record *trace.Record
	out, messages, err := t.execute(plain(os.Environ()), func(cmd *exec.Cmd) (err error) {
		record, err = trace.Run(cmd)
		return err
	})
	took := time.Since(began)
	if !t.ran {
		return err
	}
	t.cache.Count(stats.DiskMisses, 1)
	t.cache.Count(stats.Builds, 1)
	t.cache.Count(stats.BuildTime, int64(took))
	if err != nil {
		t.cache.Count(stats.BuildFailures, 1)
		t.record(engine.Decision{Err: err, Spent: took, Kernels: t.label()})
		return nil
	}
	if err := t.keep(ctx, made{record, before, out, messages, began, took}); err != nil {
		t.unfit = err.Error()
		if t.key == "" { // else it was to be stored, which is recorded
			t.record(engine.Decision{Origin: engine.Compiled, Spent: took, Reason: t.unfit, Kernels: t.label()})
		}
	}
	return nil
}

// label returns what people know a run by.
func (t *tracing) label() []string { return []string{filepath.Base(t.input)} }

// searched returns the directories in which programs and libraries are looked for. Some may not be there, in a home, say,
// in which much changes while a large file is compiled.
func searched() []string {
	return slices.Concat(filepath.SplitList(os.Getenv("PATH")), filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")))
}

// settle waits until a change of the input would show: who has it compiled may have written it a moment ago.
func (t *tracing) settle() {
	if info, err := os.Stat(t.input); err == nil {
		time.Sleep(min(time.Until(info.ModTime().Add(ctime.Grain)), ctime.Grain))
	}
}

// made is what a run has made, and what is known of it.
type made struct {
	record   *trace.Record
	before   listing
	out      []byte
	messages string
	began    time.Time
	took     time.Duration
}

// keep stores what a run has made, or says why not.
func (t *tracing) keep(ctx context.Context, m made) error {
	a, err := t.kept(m.out, m.messages)
	if err != nil {
		return err
	}
	a.Cost = m.took
	paths, err := t.inputs(m.record)
	if err != nil {
		return err
	}
	absent := func(paths []string) error { return m.before.vanished(paths, m.began) }
	found, err := deps.Watched(t.unit, paths, m.began, sumOfProgram, absent)
	if err != nil {
		return err
	}
	g, err := t.begin(found.Unit, found.Manifest)
	if err != nil {
		return err
	}
	t.key = g.Job().Key.Short()
	if _, t.nearest, err = g.Store(ctx, a); err != nil {
		return err
	}
	i := t.free(ctx)
	return t.blobs.PutBlob(ctx, store.Manifests, t.name(i), found.Manifest.Append(nil, t.name(i)))
}

// free returns which manifest is to be written: one that is not there, or is of the same files, or any.
func (t *tracing) free(ctx context.Context) int {
	for i := range manifests {
		b, err := t.blobs.GetBlob(ctx, store.Manifests, t.name(i))
		if err != nil {
			return i
		}
		if m, err := manifest.Parse(b, t.name(i)); err != nil {
			return i
		} else if _, changed := m.Check(); changed == "" {
			return i
		}
	}
	return int(time.Now().UnixNano() % manifests)
}

// inputs returns the paths that decide what the compiler makes, or why it is not sure that they do.
func (t *tracing) inputs(record *trace.Record) (paths []string, err error) {
	switch {
	case record == nil:
		return nil, errors.New("it cannot be traced here")
	case record.Unclear != "":
		return nil, fmt.Errorf("trace: %s", record.Unclear)
	}
	for _, f := range record.Files {
		path := filepath.Clean(f.Path)
		switch temporary := isTemporary(path); {
		case path == absolute(t.output) && used(f, isPreprocessor) != 0:
			return nil, fmt.Errorf("it reads %s, which it makes", path)
		case neutral().MatchString(path), path == absolute(t.output), t.depends != "" && path == absolute(t.depends):
		case path == terminal && used(f, func(program string) bool { return !isShell(program) }) == 0:
		case zones().MatchString(path) && used(f, isPreprocessor) != 0:
			return nil, errTime
		case f.Uses&trace.Written != 0:
			if _, err := os.Lstat(path); !temporary || err == nil {
				return nil, fmt.Errorf("it writes %s", path)
			}
		case temporary && strings.HasPrefix(filepath.Base(path), "tmpxft_"): // of this process alone
		case f.Uses&trace.Listed != 0 && !slices.Contains(temporaries(), path): // where nvcc looks for what to remove
			return nil, fmt.Errorf("it lists %s", path)
		case !t.timed && used(f, isAssembler) == trace.Looked && isRegular(path): // which a .file directive names
			return nil, fmt.Errorf("ptxas writes the time of %s", path)
		case under(path, "/proc") || under(path, "/sys") || under(path, "/dev") && path != "/dev" && !under(path, "/dev/shm"):
			return nil, fmt.Errorf("it looks at %s", path)
		default:
			if f.Uses&trace.Executed != 0 {
				if err := isKnown(f.Path); err != nil {
					return nil, err
				}
			}
			if name := filepath.Base(path); name == "nvcc.profile" || name == "specs" {
				if err := readsVariables(f.Path); err != nil {
					return nil, err
				}
			}
			paths = append(paths, f.Path)
		}
	}
	return paths, nil
}

// isKnown says why a program is none of those that are known.
func isKnown(path string) error {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it was looked for
	case err != nil:
		return err
	case !programs().MatchString(filepath.Base(path)) || !programs().MatchString(filepath.Base(real)):
		return fmt.Errorf("it starts %s", path)
	case !isELF(real) && !isWrapper(real):
		return fmt.Errorf("it starts %s, a script", path)
	}
	return nil
}

// sumOfProgram returns the digest of a program, which processes share; nil for other files.
func sumOfProgram(path string) *key.Digest {
	if !programs().MatchString(filepath.Base(path)) || !isELF(path) {
		return nil
	}
	stamp, err := contents.Look(path)
	if err != nil {
		return nil
	}
	sum, err := contents.Sum(path, stamp)
	if err != nil {
		return nil
	}
	return (*key.Digest)(&sum)
}

func isShell(program string) bool {
	return slices.Contains([]string{"sh", "bash", "dash"}, filepath.Base(program))
}

// zones are where a program that wants to know the time of day looks for the zone: cudafe++ and cicc do at their
// start, GCC where a macro has the time, whatever it is pasted of.
var (
	zones   = pattern.Lazy(`^/etc/localtime$|/zoneinfo/`)
	errTime = errors.New("a source asks for the time of the compile")
)

func isPreprocessor(program string) bool { return strings.HasPrefix(filepath.Base(program), "cc1") }

func isAssembler(program string) bool { return slices.Contains(ptxas.names, filepath.Base(program)) }

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// used returns what the programs of a kind did with a file.
func used(f trace.File, kind func(program string) bool) (uses trace.Use) {
	for program, did := range f.By {
		if kind(program) {
			uses |= did
		}
	}
	return uses
}

// temporaries returns the directories of temporary files.
func temporaries() (dirs []string) {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if dir := os.Getenv(name); dir != "" {
			dirs = append(dirs, absolute(dir))
		}
	}
	return append(dirs, "/tmp")
}

func isTemporary(path string) bool {
	return slices.ContainsFunc(temporaries(), func(dir string) bool { return path != dir && under(path, dir) })
}

func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// absolute returns a path as a trace has it: below the directory that we are in, whatever links lead here.
func absolute(path string) string {
	if !filepath.IsAbs(path) {
		dir, _ := unix.Getwd()
		path = dir + "/" + path
	}
	return filepath.Clean(path)
}
