package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// place is where a job is built: a working directory, and the options that name
// directories of header files.
type place struct {
	dir    string
	search []string
}

// errOurs says why the recorded header files cannot stand in for the user's.
var errOurs = errors.New("not possible with recorded header files")

// findPlace makes the tree of a job's recorded header files below root, each at the path that it had,
// and returns where to build. A compiler finds the same files there as it did where they were, if
// nothing in source and options names a path: then the user's own files must do, if they are still
// the same. In both cases the key that follows decides.
func findPlace(ctx context.Context, s *disk.Store, j *spool.Job, root string) (place, error) {
	if !keepsPlace(j.Recipe.Image) {
		return place{dir: root, search: j.Recipe.Options.Search}, nil
	}
	p, err := mirror(ctx, s, j, root)
	if err == nil {
		return p, nil
	}
	if info, statErr := os.Stat(j.Environment.Dir); statErr == nil && info.IsDir() {
		return place{dir: j.Environment.Dir, search: j.Recipe.Options.Search}, nil
	}
	return place{}, err
}

// keepsPlace reports whether what is built of an image depends on files, or on where it is built.
func keepsPlace(m *key.Image) bool {
	return m.ReadsFiles() || slices.ContainsFunc(m.Units(), func(u key.Unit) bool { return u.Dir != "" })
}

func mirror(ctx context.Context, s *disk.Store, j *spool.Job, root string) (place, error) {
	p := place{dir: filepath.Join(root, j.Environment.Dir)}
	if _, search := flags.SplitSearch([]string{"-I" + root}); len(search) != 1 {
		return p, fmt.Errorf("%w: its directory %q is none that all compilers read alike", errOurs, root)
	}
	var err error
	if p.search, err = moveSearch(j.Recipe.Options.Search, root); err != nil {
		return p, err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return p, err
	}
	from, _ := flags.Directories(j.Recipe.Options.Search)
	for i, dir := range from {
		from[i] = absolute(j.Environment.Dir, dir)
		if err := makeWay(root, from[i]); err != nil {
			return p, err
		}
	}
	from = append(from, j.Environment.Dir)
	for _, u := range j.Recipe.Image.Units() {
		if u.Dir != "" {
			return p, fmt.Errorf("%w: its code depends on paths", errOurs)
		}
		for i := range u.Files {
			f := &u.Files[i]
			content, err := s.GetBlob(ctx, store.Headers, f.Digest)
			if err != nil {
				return p, fmt.Errorf("%w: %s: %w", errOurs, f.Path, err)
			}
			if err := writeBelow(root, f.Path, content); err != nil {
				return p, err
			}
			if err := makeWays(root, u.Files, f.Includes, append([]string{filepath.Dir(f.Path)}, from...)); err != nil {
				return p, err
			}
		}
		if err := makeWays(root, u.Files, u.Includes, from); err != nil {
			return p, err
		}
	}
	return p, nil
}

// makeWays makes the directories below root that the names of included files pass, by ".." for
// one, in those of the directories that lead to the files. It refuses absolute names.
func makeWays(root string, files []key.File, includes []key.Include, from []string) error {
	for _, inc := range includes {
		name := strings.Trim(inc.Name, `"<>`)
		if filepath.IsAbs(name) {
			return fmt.Errorf("%w: it includes %s", errOurs, inc.Name)
		}
		for _, dir := range from {
			way := absolute(dir, name)
			if inc.File < 0 || filepath.Clean(way) != filepath.Clean(files[inc.File].Path) {
				continue
			}
			if err := makeWay(root, way); err != nil {
				return err
			}
		}
	}
	return nil
}

// absolute returns the path that leads from a directory, as it is written.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}

// makeWay makes the directories below root that an absolute path passes.
func makeWay(root, path string) error {
	for at, c := range path {
		if c == '/' {
			if err := os.MkdirAll(filepath.Join(root, filepath.Clean(path[:at+1])), 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeBelow makes the file of an absolute path below root.
func writeBelow(root, path string, content []byte) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w: its header %s is nowhere", errOurs, path)
	}
	if err := makeWay(root, path); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.Clean(path)), content, 0o600)
}

// moveSearch returns options that name directories with those below root instead.
// Directories that are named relative to the working directory move with that.
func moveSearch(words []string, root string) (moved []string, err error) {
	rest, _, dirs, doubt := flags.ParseSearch(words)
	if len(rest) > 0 || doubt != "" {
		return nil, fmt.Errorf("%w: options %q", errOurs, words)
	}
	options := [...]string{flags.QuotedDirs: "-iquote", flags.AngledDirs: "-I", flags.SystemDirs: "-isystem", flags.AfterDirs: "-idirafter"}
	for _, d := range dirs {
		if filepath.IsAbs(d.Path) {
			d.Path = filepath.Join(root, d.Path)
		}
		moved = append(moved, options[d.Rank]+d.Path)
	}
	return moved, nil
}
