package kernstash

import (
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
)

// host answers the engine's questions by a Runtime, and by what the process is.
type host[P, K any] struct {
	cache.Process
	Runtime[P, K]
}

func (h host[P, K]) CheckOptions(device int, words []string) error {
	if judge, ok := any(h.Runtime).(OptionsJudge); ok {
		return judge.AgainstOptions(device, words)
	}
	return nil
}

func (h host[P, K]) HeaderSearch(device int, dir string, r engine.Request) (deps.Search, error) {
	if searcher, ok := any(h.Runtime).(HeaderSearcher); ok {
		return searcher.HeaderSearch(device, dir, requestOf(r))
	}
	return h.Process.HeaderSearch(device, dir, r)
}

func (h host[P, K]) Delivery(job engine.Job) engine.Delivery {
	if c, ok := any(h.Runtime).(Capturer[P]); ok && c.Defers(Job(job)) {
		return engine.AtLaunch
	}
	return engine.AtBuild
}
