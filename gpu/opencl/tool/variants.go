package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// layerLacks says whether a read-only layer answers for a key, with an entry
// that is not ready for all local sizes that are wanted. It is not ours to better.
func (b *builder) layerLacks(ctx context.Context, k key.Key) bool {
	for _, dir := range b.of.Layers {
		d := disk.New(disk.Options{Dir: dir, ReadOnly: true})
		entry, err := d.Get(ctx, k)
		_ = d.Close()
		if err == nil {
			return !ready(entry.Artifact, b.localSizes)
		}
	}
	return false
}

// ready says whether an artifact has code of every kernel for every local size.
func ready(a *store.Artifact, sizes [][3]int) bool {
	for _, k := range a.Kernels {
		if strings.Contains(k.Attributes, "reqd_work_group_size") && hasVariant(a, k.Name+"/") {
			continue // it has code for the one size that it takes
		}
		for _, s := range sizes {
			name := fmt.Sprintf("%s/%d-%d-%d", k.Name, s[0], s[1], s[2])
			if !slices.Contains(a.Variants, name) && !hasVariant(a, name+"-") {
				return false
			}
		}
	}
	return true
}

func hasVariant(a *store.Artifact, prefix string) bool {
	return slices.ContainsFunc(a.Variants, func(v string) bool { return strings.HasPrefix(v, prefix) })
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
