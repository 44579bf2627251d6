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
		res, err := c.Put(ctx, e)
		if err == nil && remotes.ReadsFiles(e.Recipe) {
			handOverLists(ctx, c, d, e)
		}
		switch {
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

// handOverLists hands over the lists of header files that an entry needs.
func handOverLists(ctx context.Context, c *client.Client, d *disk.Store, e *store.Entry) {
	lists, err := remotes.ReadLists(ctx, d)
	if err != nil {
		return
	}
	for _, name := range lists.Of(e.Recipe) {
		if b, err := lists.Portable(ctx, name); err == nil {
			_ = c.PutBlob(ctx, store.Manifests, name, b) // without it the entry hits, too
		}
	}
}
