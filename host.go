package kernstash

import (
	"context"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// host answers the engine's questions by a Runtime, and by what the process is.
type host[P, K any] struct {
	cache.Process
	rt Runtime[P, K]
}

func (h host[P, K]) Devices() int { return h.rt.Devices() }

func (h host[P, K]) Identify(ctx context.Context, device int) (key.Device, error) {
	return h.rt.Identify(ctx, device)
}

func (h host[P, K]) Variables(device int) ([]key.Pair, error) { return h.rt.Variables(device) }

func (h host[P, K]) CheckOptions(device int, words []string) error {
	if judge, ok := any(h.rt).(OptionsJudge); ok {
		return judge.AgainstOptions(device, words)
	}
	return nil
}

func (h host[P, K]) HeaderSearch(device int, dir string, r engine.Request) (deps.Search, error) {
	if searcher, ok := any(h.rt).(HeaderSearcher); ok {
		return searcher.HeaderSearch(device, dir, requestOf(r))
	}
	return h.Process.HeaderSearch(device, dir, r)
}

func (h host[P, K]) Delivery(job engine.Job) engine.Delivery {
	if c, ok := any(h.rt).(Capturer[P]); ok && c.Defers(Job(job)) {
		return engine.AtLaunch
	}
	return engine.AtBuild
}
