package entries

import (
	"context"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Keys returns keys of the cache that begin with prefix, each with a tab and its name.
func Keys(ctx context.Context, a *cli.App, prefix string) (keys []string) {
	const most = 200
	c, err := a.OpenCache()
	if err != nil {
		return nil
	}
	defer c.Disk.Close()
	for info, err := range c.Disk.List(ctx) {
		if err != nil || len(keys) == most {
			break
		}
		if strings.HasPrefix(info.Key.String(), prefix) && !info.Key.IsZero() {
			keys = append(keys, info.Key.Short()+"\t"+Name(info))
		}
	}
	return keys
}

// CheckKey refuses what no key begins with.
func CheckKey(prefix string) error {
	if prefix == "" || strings.Trim(prefix, "0123456789abcdefABCDEF") != "" || len(prefix) > 2*len(key.Digest{}) {
		return cli.Usagef("key %q: want up to %d hexadecimal digits", prefix, 2*len(key.Digest{}))
	}
	return nil
}

// Find returns the entry whose key begins with prefix.
func Find(ctx context.Context, d *disk.Store, prefix string) (store.Info, error) {
	prefix = strings.ToLower(prefix)
	var found []store.Info
	for info, err := range d.List(ctx) {
		if err != nil {
			return store.Info{}, err
		}
		again := len(found) > 0 && found[0].Key == info.Key // the same entry at a second number
		if !info.Key.IsZero() && strings.HasPrefix(info.Key.String(), prefix) && !again {
			found = append(found, info)
		}
	}
	switch len(found) {
	case 0:
		return store.Info{}, fmt.Errorf("key %s: %w; 'kernstash ls' lists what is there", prefix, store.ErrNotFound)
	case 1:
		return found[0], nil
	}
	names := make([]string, 0, 5)
	for _, info := range found[:min(len(found), cap(names))] {
		names = append(names, info.Key.Short())
	}
	text := strings.Join(names, ", ")
	if more := len(found) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return store.Info{}, cli.Usagef("key %s: %d entries begin like this: %s; give more of the key", prefix, len(found), text)
}
