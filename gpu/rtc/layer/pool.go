package layer

import (
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
)

// pool is a library, and the engine's session of it. It lives as long as the process.
type pool struct {
	library  *rtc.Library
	frontEnd inprocess.FrontEnd
	session  *engine.Session
}

// maxPools bounds what is remembered: a process may load and unload libraries.
const maxPools = 64

// pool returns that of a request's library.
func (l *Layer) pool(r *Request) (*pool, error) {
	id := [2]uintptr{uintptr(r.API), r.Compile}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.pools[id]; known != nil {
		return known, nil
	}
	library, err := rtc.Loaded(r.API, r.Compile, r.Major, r.Minor)
	if err != nil {
		return nil, err
	}
	own := &pool{library: library, frontEnd: l.Instance.FrontEnd(r.API.String())}
	own.session = l.Cache.Engine().Session(rtc.Host{Runtime: rtc.Runtime{Library: library}}, engine.SessionOptions{
		OptionsAsGiven: true, Share: true, Decided: own.frontEnd.Decided,
	})
	if len(l.pools) >= maxPools {
		clear(l.pools) // they are made again
	}
	l.pools[id] = own
	own.frontEnd.Report(runlog.Event{Kind: runlog.Loaded})
	return own, nil
}
