package rtc

import (
	"context"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Host answers the engine's questions by a library.
type Host struct {
	cache.Process
	Library *Library
}

// Devices returns 1.
func (Host) Devices() int { return 1 }

// Identify returns what decides how the library compiles.
func (h Host) Identify(context.Context, int) (key.Device, error) { return h.Library.Identify() }

// Variables returns the environment variables that the library obeys.
func (h Host) Variables(int) ([]key.Pair, error) { return h.Library.Variables() }

// HeaderSearch returns where the library looks for header files.
func (h Host) HeaderSearch(_ int, dir string, r engine.Request) (deps.Search, error) {
	var image *key.Image
	if r.Image != nil {
		image = r.Image.Image
	}
	return h.Library.headerSearch(dir, nameOf(r.Attributes, r.Unkeyed), image)
}
