package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Options{
		`{"dir": "/d"}`: {Dir: "/d", MaxSize: 20 << 30, MaxPut: 1 << 30, Tenants: []Tenant{{Name: "default", UIDs: []uint32{7}, Write: true}}},
		`{"dir": "/d", "max-size": "1GiB", "max-entry-size": "5MiB", "remote": "redis://a", "tenants": [
			{"name": "ml", "users": ["0", "1000"], "groups": ["5"], "write": true, "remote": "redis://b", "sign": "/s", "trust": "/t"},
			{"name": "all", "users": ["*"]}]}`: {Dir: "/d", MaxSize: 1 << 30, MaxPut: 5 << 20, Tenants: []Tenant{
			{Name: "ml", UIDs: []uint32{0, 1000}, GIDs: []uint32{5}, Write: true, Remote: "redis://b", Sign: "/s", Trust: "/t"},
			{Name: "all", Anyone: true, Remote: "redis://a"},
		}},
	} {
		c, err := ParseConfig(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := c.Options(7)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Options{}, "Open", "Log", "limits")); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
		if got.Everybody(7) != (len(want.Tenants) > 1) {
			t.Errorf("%s: everybody: %v", text, got.Everybody(7))
		}
	}
	for text, want := range map[string]string{
		`{"dir": "d"}`:                                                 `dir: "d" is no absolute path`,
		`{"dir": "/d", "max-size": "much"}`:                            `max-size: "much", want a size such as 512MiB or 20GiB`,
		`{"dir": "/d", "max-entry-size": "-1"}`:                        `max-entry-size: "-1", want a size such as 512MiB or 20GiB`,
		`{"dir": "/d", "tenants": [{"name": "../x", "users": ["*"]}]}`: `tenants[0].name: "../x", want up to 64 of a-z, 0-9, '.', '-' and '_', a letter or digit first`,
		`{"dir": "/d", "tenants": [{"name": "x"}]}`:                    `tenants[0]: neither users nor groups`,
		`{"dir": "/d", "tenants": [{"name": "x", "users": ["*"], "remote": "ftp://u:secret@h"}]}`: `tenants[0].remote: "ftp://***@h", want addresses as the setting remote has them`,
		`{"dir": "/d", "tenants": [{"name": "x", "groups": ["no-such-group"]}]}`:                  `tenants[0].groups[0]: group: unknown group no-such-group`,
		`{"dir": "/d", "tenants": [{"name": "x", "users": ["-1"]}]}`:                              `tenants[0].users[0]: user: unknown user -1`,
	} {
		c, err := ParseConfig(strings.NewReader(text))
		if err == nil {
			_, err = c.Options(7)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(`{"dir": "/d", "tenants": [{"name": "ml", "users": ["0", "*"], "groups": ["5"], "write": true}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig(strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range c.Tenants { // whose names are looked up
			c.Tenants[i].Users, c.Tenants[i].Groups = []string{"*"}, nil
		}
		o, err := c.Options(0)
		if err == nil && (len(o.Tenants) == 0 || o.Dir[0] != '/') {
			t.Errorf("%q: %+v", text, o)
		}
	})
}
