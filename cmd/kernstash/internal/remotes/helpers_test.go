package remotes

import (
	"slices"
	"testing"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/store"
)

func mustFilter(t *testing.T, words []string) func(store.Info) bool {
	t.Helper()
	f, err := bundles.Filter(words)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sorted(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	return all
}
