package rtc_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/stats"
)

// system opens the system's libraries. The dynamic linker finds another one by the same
// name once that is loaded, as toolkit does.
var system = map[rtc.API]func() (*rtc.Library, error){
	rtc.NVRTC:  sync.OnceValues(func() (*rtc.Library, error) { return rtc.Open(rtc.NVRTC, "") }),
	rtc.HIPRTC: sync.OnceValues(func() (*rtc.Library, error) { return rtc.Open(rtc.HIPRTC, "") }),
}

// open returns a real library: apt-get install libnvrtc11.2 libamdhip64-5.
func open(t testing.TB, api rtc.API) *rtc.Library {
	t.Helper()
	l, err := system[api]()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// compiler returns a Compiler of a cache of its own in dir.
func compiler(t testing.TB, l *rtc.Library, dir string) (*rtc.Compiler, *kernstash.Cache) {
	t.Helper()
	cache, err := kernstash.Open(kernstash.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c := rtc.NewCompiler(cache, l, kernstash.ContextOptions{})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := cache.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, cache
}

func compile(t testing.TB, c *rtc.Compiler, r rtc.Request) *rtc.Output {
	t.Helper()
	o, err := c.Compile(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// outcome compiles in a process of its own, as far as the cache is concerned, and says
// whether that was a hit, and what is not cacheable counts.
func outcome(t testing.TB, l *rtc.Library, dir string, r rtc.Request) (o *rtc.Output, hit bool) {
	t.Helper()
	c, cache := compiler(t, l, dir)
	o = compile(t, c, r)
	if !cache.Flush(3 * time.Minute) {
		t.Fatal("not stored in a minute")
	}
	n := cache.Stats()
	if n.Get(stats.DiskHits)+n.Get(stats.Builds) != 1 {
		t.Logf("%d hits, %d builds", n.Get(stats.DiskHits), n.Get(stats.Builds))
	}
	return o, n.Get(stats.DiskHits) == 1
}

func cacheDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "cache")
}
