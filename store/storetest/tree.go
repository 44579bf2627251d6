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
	Bytes   int64 // what they take, with all else that docs/FORMAT.md counts

	// Strange are paths that the specification does not know, temporary files,
	// and recipes without an entry: what must be gone after a gc.
	Strange []string
}

// specified is what may be below a root.
var specified = regexp.MustCompile(`^(VERSION|CACHEDIR\.TAG|\.meta|\.meta/(locks|account|stats|files|tmp)` +
	`|\.meta/records(\.db(\.sum)?|/(current|[0-9a-f]{16})\.1)?` +
	`|\.meta/(headers|manifests)(/[0-9a-f]{2}(/[0-9a-f]{64})?)?` +
	`|[0-9a-f]{32}(/[0-9a-f]{32}){0,3}|[0-9a-f]{32}(/[0-9a-f]{32}){3}/[0-9]+\.(bin|src))$`)

// counted is what takes space by the account: files of entries, the contents of
// headers, manifests; and directories at or below an image.
var counted = regexp.MustCompile(`^([0-9a-f]{32}(/[0-9a-f]{32}){1,3}(/[0-9]+\.(bin|src))?` +
	`|\.meta/(headers|manifests)/[0-9a-f]{2}/[0-9a-f]{64})$`)

// takes is the space of a file or directory of this size by the account.
func takes(dir bool, size int64) int64 {
	const block = 4096
	if dir {
		return block
	}
	return (size + block - 1) / block * block
}

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
		if !counted.MatchString(rel) {
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
		case isSrc:
			recipes = append(recipes, number)
		}
		found.Bytes += takes(d.IsDir(), info.Size())
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
