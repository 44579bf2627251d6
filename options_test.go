package kernstash

import (
	"testing"
)

// A program's limit is for the directory that it chose. Applied to one that the operator
// says, which others share, it would evict what is theirs.
func TestLimitOfAnotherDirectory(t *testing.T) {
	for _, c := range []struct {
		name      string
		o         Options
		env, size string
		want      int64
		eviction  string
	}{
		{"the program's", Options{Dir: "/own", MaxSize: 1 << 20, Eviction: "lru"}, "", "", 1 << 20, "lru"},
		{"the operator's", Options{Dir: "/own", MaxSize: 1 << 20, Eviction: "lru"}, "/shared", "", 5 << 30, "cost"},
		{"the operator's, with a limit", Options{Dir: "/own", MaxSize: 1 << 20}, "/shared", "7GiB", 7 << 30, "cost"},
		{"the program's, whatever the operator says", Options{Dir: "/own", MaxSize: 1 << 20, Flags: map[string]string{"dir": "/own"}}, "/shared", "", 1 << 20, "cost"},
		{"the program leaves it open", Options{MaxSize: 1 << 20}, "/shared", "", 1 << 20, "cost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KERNSTASH_DIR", c.env)
			t.Setenv("KERNSTASH_MAX_SIZE", c.size)
			c.o.ConfigFile = emptyConfig(t)
			cache, err := Open(c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer cache.Close()
			s := cache.cache().Settings()
			if s.MaxSize != c.want || s.Eviction != c.eviction {
				t.Errorf("%d %s; want %d %s", s.MaxSize, s.Eviction, c.want, c.eviction)
			}
		})
	}
}
