package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// missing finds the entry of an image that was just hit, and returns its key if
// it is not ready for all local sizes that are wanted, with those sizes and the
// ones that it is ready for. The key is nil where nothing is missing.
func (b *builder) missing(ctx context.Context, image *kernstash.Image) (*key.Key, [][3]int, error) {
	words := key.Tokens(b.compile)
	for info, err := range b.disk.List(ctx) {
		if err != nil {
			return nil, nil, err
		}
		if info.Bad != nil || info.Key.Image != image.Digest() || info.Key.Device != b.device {
			continue
		}
		recipe, err := b.disk.Recipe(ctx, info.Key)
		if err != nil || !slices.Equal(recipe.Options.Compile, words) {
			continue // other options, or those that a setting adds
		}
		entry, err := b.disk.Get(ctx, info.Key)
		if err != nil {
			return nil, nil, err
		}
		if ready(entry.Artifact, b.localSizes) {
			continue
		}
		return &info.Key, union(entry.Artifact, b.localSizes), nil
	}
	return nil, nil, nil
}

// ready says whether an artifact has code of every kernel for every local size.
func ready(a *store.Artifact, sizes [][3]int) bool {
	for _, k := range a.Kernels {
		for _, s := range sizes {
			name := fmt.Sprintf("%s/%d-%d-%d", k.Name, s[0], s[1], s[2])
			if !slices.ContainsFunc(a.Variants, func(v string) bool { return v == name || strings.HasPrefix(v, name+"-") }) {
				return false
			}
		}
	}
	return true
}

// union returns sizes and the local sizes that an artifact is ready for.
func union(a *store.Artifact, sizes [][3]int) [][3]int {
	all := slices.Clone(sizes)
	for _, v := range a.Variants {
		_, size, _ := strings.Cut(v, "/")
		var s [3]int
		if n, _ := fmt.Sscanf(size, "%d-%d-%d", &s[0], &s[1], &s[2]); n == len(s) && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
