package node

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Uploader returns what hands an entry of a store on disk over to the agent, for a worker; nil:
// there is no agent.
func Uploader(s *settings.Settings, d *disk.Store) func(context.Context, key.Key) spool.Outcome {
	c := client.New(client.Options{Paths: s.AgentSockets(), UIDs: s.AgentUID})
	if !c.Present() {
		return nil
	}
	return func(ctx context.Context, k key.Key) spool.Outcome {
		e, err := d.Get(ctx, k)
		if err == nil {
			e.Recipe, err = d.Recipe(ctx, k)
		}
		if err != nil {
			return remotes.Unread(err)
		}
		switch res, err := c.Put(ctx, e); {
		case errors.Is(err, client.ErrRefused), errors.Is(err, store.ErrTooLarge):
			return spool.Outcome{State: spool.JobRefused, Reason: err.Error()}
		case err != nil:
			return spool.Outcome{State: spool.JobElsewhere, Reason: err.Error()}
		case res == store.Existing:
			return spool.Outcome{State: spool.JobThere}
		}
		return spool.Outcome{State: spool.JobStored}
	}
}
