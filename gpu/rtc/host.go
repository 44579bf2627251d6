package rtc

import (
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Host answers the engine's questions by a library.
type Host struct {
	cache.Process
	Runtime
}

// HeaderSearch returns where the library looks for header files.
func (h Host) HeaderSearch(_ int, dir string, r engine.Request) (deps.Search, error) {
	var image *key.Image
	if r.Image != nil {
		image = r.Image.Image
	}
	return h.Library.headerSearch(dir, nameOf(r.Attributes, r.Unkeyed), image)
}
