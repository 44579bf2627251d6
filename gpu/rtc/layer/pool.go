package layer

import (
	"slices"
	"sync"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
)

// pool is a library, and the engine's session of it. It lives as long as the process.
type pool struct {
	library *rtc.Library
	door    inprocess.Door
	session *engine.Session
}

// poolID finds a pool.
type poolID struct {
	api     rtc.API
	compile uintptr
}

type pools struct {
	mu    sync.Mutex
	all   map[poolID]*pool
	order []poolID // the oldest first
}

// maxPools bounds what is remembered: a process may load and unload libraries.
const maxPools = 64

func (p *pools) find(l *Layer, r *Request) (*pool, error) {
	id := poolID{r.API, r.Compile}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.all[id]; known != nil {
		return known, nil
	}
	library, err := rtc.Loaded(r.API, r.Compile, r.Major, r.Minor)
	if err != nil {
		return nil, err
	}
	own := &pool{library: library, door: l.Guest.Door(r.API.String())}
	own.session = l.Cache.Engine().Session(rtc.Host{Runtime: rtc.Runtime{Library: library}}, engine.SessionOptions{
		OptionsAsGiven: true, Share: true, Decided: own.door.Decided,
	})
	p.add(id, own)
	own.door.Report(runlog.Event{Kind: runlog.Loaded})
	return own, nil
}

// add adds a pool; the oldest goes where there are too many.
func (p *pools) add(id poolID, own *pool) {
	if p.all == nil {
		p.all = make(map[poolID]*pool)
	}
	if len(p.order) >= maxPools {
		delete(p.all, p.order[0])
		p.order = slices.Delete(p.order, 0, 1)
	}
	p.all[id], p.order = own, append(p.order, id)
}
