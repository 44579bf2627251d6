package engine

import (
	"testing"

	"github.com/kernstash/kernstash/store"
)

func TestCompareArtifacts(t *testing.T) {
	t.Parallel()
	binaries := func(variants []string, b ...store.Binary) *store.Artifact {
		return &store.Artifact{Binaries: b, Variants: variants}
	}
	final := func(s string) store.Binary { return store.Binary{Form: store.FormFinal, Data: []byte(s)} }
	ptx := func(s string) store.Binary { return store.Binary{Form: store.FormIntermediate, Data: []byte(s)} }
	deferred := func(s string) store.Binary { return store.Binary{Form: store.FormDeferred, Data: []byte(s)} }
	for name, tt := range map[string]struct {
		a, b *store.Artifact
		want verdict
	}{
		"equal":                       {binaries(nil, final("x")), binaries(nil, final("x")), equal},
		"different":                   {binaries(nil, final("x")), binaries(nil, final("y")), different},
		"finished, as before":         {binaries(nil, ptx("p")), binaries(nil, final("x"), ptx("p")), equal},
		"finished, another before":    {binaries(nil, ptx("q")), binaries(nil, final("x"), ptx("p")), different},
		"nothing in common":           {binaries(nil, ptx("p")), binaries(nil, final("p")), incomparable},
		"same launches":               {binaries([]string{"a"}, deferred("x")), binaries([]string{"a"}, deferred("x")), equal},
		"same launches, other code":   {binaries([]string{"a"}, deferred("x")), binaries([]string{"a"}, deferred("y")), different},
		"other launches, other bytes": {binaries([]string{"a"}, deferred("x")), binaries([]string{"b"}, deferred("y")), incomparable},
		"nothing at all":              {binaries(nil), binaries(nil, final("x")), incomparable},
	} {
		if got := compare(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
