package node

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/kernstash/kernstash/agent"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/tiered"
	"github.com/kernstash/kernstash/trust"
)

// tenants says what remotes, keys and lists each tenant has: those that the configuration names, or
// else the settings. It is used by one goroutine.
type tenants struct {
	s      *settings.Settings
	alone  bool // the configuration names no tenants: the only one is that of the settings
	log    *slog.Logger
	config map[string]remotes.Config // of those that were asked for
}

func (a *tenants) of(t agent.Tenant) (c remotes.Config, err error) {
	if c, known := a.config[t.Name]; known {
		return c, nil // with the same list
	}
	s := a.s
	c = remotes.Config{
		Addresses: s.Remote, Tenant: t.Name, SignKey: cmp.Or(t.Sign, s.RemoteSignKey), Timeout: s.RemoteTimeout, Trust: remotes.Trusted(s), Log: a.log,
	}
	if a.alone { // else a tenant "default" would be among the objects of another
		c.Tenant = s.Tenant
	}
	if t.Trust != "" {
		c.Trust = trust.Open(t.Trust, true)
	}
	if t.Remote != "" {
		if c.Addresses, err = settings.ParseRemotes(t.Remote); err != nil {
			return c, err
		}
	}
	// A key that is not there, such as an optional secret of Kubernetes, is no reason to serve nobody.
	if _, err := remotes.SignKey(c.SignKey); err != nil {
		a.log.Error("nothing is put into remotes", "tenant", t.Name, "reason", err)
		c.SignKey, c.ReadOnly = "", true
	}
	a.config[t.Name] = c
	return c, nil
}

// signer returns who signs for a tenant, and asks for signatures in its node cache. Where there is no remote, and
// the configuration names no list, all of it is of the tenant's own users.
func (a *tenants) signer(t agent.Tenant) (agent.Signer, error) {
	c, err := a.of(t)
	if err != nil || len(c.Addresses) == 0 && t.Trust == "" {
		return nil, err
	}
	return c.Signer()
}

// open puts the remotes of a tenant behind its node cache.
func (a *tenants) open(t agent.Tenant, near *disk.Store, to stats.Recorder) (agent.Store, func(context.Context), error) {
	c, err := a.of(t)
	if err != nil {
		return nil, nil, err
	}
	if len(c.Addresses) == 0 {
		return near, func(context.Context) {}, nil
	}
	chain, err := c.Open(to)
	if err != nil {
		return nil, nil, err
	}
	far := tiered.New(near, tiered.Options{Far: chain.Far(), Recorder: to, Log: a.log})
	return far, func(context.Context) {
		_ = far.Close() // which takes 2 s at most
		_ = chain.Close()
	}, nil
}
