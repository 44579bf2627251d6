package storetest

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Tree is what lies below a root, counted by hand: by names and sizes as
// docs/FORMAT.md gives them, without the code of a store.
type Tree struct {
	Entries int64 // <n>.bin
	Bytes   int64 // of them, and of recipes

	// Strange are paths that the specification does not know, temporary files,
	// and recipes without an entry: what must be gone after a gc.
	Strange []string
}

// specified is what may be below a root.
var specified = regexp.MustCompile(`^(VERSION|CACHEDIR\.TAG|\.meta|\.meta/(locks|account|stats|tmp)` +
	`|\.meta/(headers|manifests)(/[0-9a-f]{2}(/[0-9a-f]{64})?)?` +
	`|[0-9a-f]{32}(/[0-9a-f]{32}){0,3}|[0-9a-f]{32}(/[0-9a-f]{32}){3}/[0-9]+\.(bin|src))$`)

// Look walks a root. What comes and goes meanwhile may be in it or not.
func Look(t testing.TB, root string) (found Tree) {
	t.Helper()
	bins, recipes := make(map[string]bool), []string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || path == root {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !specified.MatchString(rel) {
			found.Strange = append(found.Strange, rel)
			return nil
		}
		number, isBin := strings.CutSuffix(rel, ".bin")
		number, isSrc := strings.CutSuffix(number, ".src")
		if !isBin && !isSrc {
			return nil
		}
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case isBin:
			bins[number] = true
			found.Entries++
		default:
			recipes = append(recipes, number)
		}
		found.Bytes += info.Size()
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, number := range recipes {
		if !bins[number] {
			found.Strange = append(found.Strange, number+".src")
		}
	}
	return found
}
