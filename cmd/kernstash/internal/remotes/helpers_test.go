package remotes

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
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

func namesOf(all []remote.Object) (names []string) {
	for _, o := range all {
		names = append(names, o.Name)
	}
	return sorted(names)
}

// app returns a run of the command, and what it writes.
func app() (*cli.App, *bytes.Buffer) {
	out := new(bytes.Buffer)
	return &cli.App{In: bytes.NewReader(nil), Stream: out, Out: out, Err: io.Discard}, out
}
