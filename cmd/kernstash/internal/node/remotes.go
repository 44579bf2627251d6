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

// openRemotes returns what puts the remotes of a tenant behind its node cache: those that the
// configuration names, or else the settings. alone says that it names no tenants: the only one is that of the settings.
func openRemotes(s *settings.Settings, alone bool, log *slog.Logger) func(agent.Tenant, *disk.Store, stats.Recorder) (agent.Store, func(context.Context), error) {
	return func(t agent.Tenant, near *disk.Store, to stats.Recorder) (agent.Store, func(context.Context), error) {
		c := remotes.Config{
			Addresses: s.Remote, Tenant: t.Name, SignKey: cmp.Or(t.Sign, s.RemoteSignKey), Timeout: s.RemoteTimeout, Trust: remotes.Trusted(s), Log: log,
		}
		if alone { // else a tenant "default" would be among the objects of another
			c.Tenant = s.Tenant
		}
		if t.Trust != "" {
			c.Trust = trust.Open(t.Trust, true)
		}
		if t.Remote != "" {
			var err error
			if c.Addresses, err = settings.ParseRemotes(t.Remote); err != nil {
				return nil, nil, err
			}
		}
		if len(c.Addresses) == 0 {
			return near, func(context.Context) {}, nil
		}
		// A key that is not there, such as an optional secret of Kubernetes, is no reason to serve nobody.
		if _, err := remotes.SignKey(c.SignKey); err != nil {
			log.Error("nothing is put into remotes", "tenant", t.Name, "reason", err)
			c.SignKey, c.ReadOnly = "", true
		}
		chain, err := c.Open(to)
		if err != nil {
			return nil, nil, err
		}
		far := tiered.New(near, tiered.Options{Far: chain.Far(), Recorder: to, Log: log})
		return far, func(context.Context) {
			_ = far.Close() // which takes 2 s at most
			_ = chain.Close()
		}, nil
	}
}
