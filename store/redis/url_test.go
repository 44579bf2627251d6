package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	for raw, want := range map[string]*target{
		"redis://h":                 {scheme: "redis", addrs: []string{"h:6379"}},
		"redis://h:7/3":             {scheme: "redis", addrs: []string{"h:7"}, db: 3},
		"redis://[::1]":             {scheme: "redis", addrs: []string{"[::1]:6379"}},
		"redis://[::1]:7/?db=4":     {scheme: "redis", addrs: []string{"[::1]:7"}, db: 4},
		"redis://:p%2Fw@h":          {scheme: "redis", addrs: []string{"h:6379"}, password: "p/w"},
		"redis://u:p%40w@h":         {scheme: "redis", addrs: []string{"h:6379"}, user: "u", password: "p@w"},
		"unix:///run/redis.sock":    {scheme: "unix", addrs: []string{"/run/redis.sock"}},
		"unix://u:p@/r.sock?db=2":   {scheme: "unix", addrs: []string{"/r.sock"}, user: "u", password: "p", db: 2},
		"redis://h?cluster=true":    {scheme: "redis", addrs: []string{"h:6379"}, cluster: true},
		"redis://h?addr=i&addr=j:7": {scheme: "redis", addrs: []string{"h:6379", "i:6379", "j:7"}, cluster: true},
		"redis://h/1?sentinel-master=m&addr=i&sentinel-user=su&sentinel-password=sp": {
			scheme: "redis", addrs: []string{"h:26379", "i:26379"}, master: "m", db: 1, sentinelUser: "su", sentinelPassword: "sp",
		},
		"redis://h?max-size=5&ttl=36h": {scheme: "redis", addrs: []string{"h:6379"}, maxSize: 5, ttl: 36 * time.Hour},
	} {
		got, err := parse(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(target{}), cmpopts.IgnoreFields(target{}, "tls")); d != "" {
			t.Errorf("%s (-want +got):\n%s", raw, d)
		}
		if (got.tls != nil) != strings.HasPrefix(raw, "rediss") {
			t.Errorf("%s: TLS %v", raw, got.tls != nil)
		}
	}
}

func TestPasswordOfTheEnvironment(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "of the environment")
	for raw, want := range map[string]string{
		"redis://h":        "of the environment",
		"redis://user@h":   "of the environment",
		"redis://user:x@h": "x",
		"redis://user:@h":  "",
	} {
		if got, err := parse(raw); err != nil || got.password != want {
			t.Errorf("%s: password %q, %v; want %q", raw, got.password, err, want)
		}
	}
}

func TestBadURLs(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	for raw, want := range map[string]string{
		"":                               `scheme is ""`,
		"h:6379":                         `scheme is "h"`,
		"http://h":                       `scheme is "http"`,
		"redis://":                       "no host",
		"redis:///3":                     "no host",
		"redis://h/x":                    "not a number",
		"redis://h/-1":                   "not a number",
		"redis://h?db=-1":                "db=-1",
		"redis://h?databse=1":            `unknown parameter "databse"`,
		"redis://h?ttl=5":                "ttl=5",
		"redis://h?ttl=-5s":              "ttl=-5s",
		"redis://h?max-size=0":           "max-size=0",
		"redis://h?max-size=1MB":         "max-size=1MB",
		"redis://h?cluster=perhaps":      "cluster=perhaps",
		"redis://h?addr=i&cluster=false": "cluster=false",
		"redis://h/1?cluster=true":       "database 0",
		"redis://h?ca-file=/x":           "need rediss",
		"rediss://h?ca-file=/not/there":  "/not/there",
		"rediss://h?cert-file=/x":        "go together",
		"unix://host/r.sock":             "unix:///path",
		"unix://":                        "unix:///path",
		"unix:///r.sock?addr=h":          "addr",
		"redis://h?db=%zz":               "parameters",
	} {
		o, err := Open(raw, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "redis: ") {
			t.Errorf("%q: %v, %v; want an error with %q", raw, o, err, want)
		}
	}
}

// TestBadURLsKeepTheirPasswords: a password that is not encoded as URLs ask for ends up in
// other parts of the URL.
func TestBadURLsKeepTheirPasswords(t *testing.T) {
	for _, password := range []string{
		"tops/ecret", "tops?ecret", "tops#ecret", "tops%ecret", "12/tops", "12?tops", "12#tops", "tops@ecret", "tops:ecret", "tops ecret", "[tops",
		"12/1?tops=ecret", "tops&ecret", "12?db=tops", "12?cluster=tops", "tops\\ecret", "tops\x00",
	} {
		for _, raw := range []string{
			"redis://user:" + password + "@h/", "redis://:" + password + "@h", "unix://user:" + password + "@/r.sock",
			"redis://h?sentinel-master=m&sentinel-password=" + password, "ftp://user:" + password + "@h/",
		} {
			o, err := Open(raw, Options{})
			text := ""
			if err != nil {
				text = err.Error()
			} else {
				text = o.String()
			}
			if strings.Contains(text, "tops") || strings.Contains(text, "ecret") {
				t.Errorf("%s: %s", raw, text)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"redis://u:p@h:1/2?addr=x&ttl=5s", "unix://u:p@/s?db=1", "rediss://h?cluster=1", "redis://[::1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parse(raw)
		if err != nil {
			return
		}
		if len(got.addrs) == 0 || got.db < 0 || got.maxSize < 0 || got.ttl < 0 || (got.tls != nil) != (got.scheme == "rediss") {
			t.Errorf("%q: %+v", raw, got)
		}
	})
}
