package remotes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/tiered"
)

// appPut is what was said of an application in a remote.
type appPut struct {
	Name    string `json:"name"`
	Entries int    `json:"entries"`
	Lists   int    `json:"lists"`            // of header files
	Absent  int    `json:"absent,omitempty"` // keys that the remote does not have
	Bad     int    `json:"bad,omitempty"`    // entries that cannot hit
	Packed  int64  `json:"packed"`           // bytes of the pack; 0: there is none
}

// putApp says in a remote what an application uses.
func putApp(ctx context.Context, t Tier, app string, sums, lists []key.Digest) (*appPut, error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout*time.Duration(1+(len(sums)+len(lists))/getsAtOnce))
	defer cancel()
	put, err := t.Store.PutApp(ctx, app, sums, lists)
	if err != nil {
		return nil, errors.New(said(err))
	}
	return &appPut{Name: app, Entries: put.Listed, Lists: put.Manifests, Absent: put.Absent, Bad: put.Bad, Packed: put.Packed}, nil
}

func (l *appPut) write(a *cli.App, remote string) {
	if l == nil {
		return
	}
	a.Printf("%s: application %s uses %s and %s of header files", human.Printable(remote, false), human.Printable(l.Name, false),
		human.Plural(l.Entries, "entry"), human.Plural(l.Lists, "list"))
	if l.Packed > 0 {
		a.Printf(", packed: %s", human.Size(l.Packed))
	}
	if l.Absent > 0 {
		a.Printf("; %d not there", l.Absent)
	}
	if l.Bad > 0 {
		a.Printf("; %d cannot hit", l.Bad)
	}
	a.Printf("\n")
}

// Fetch fetches what an application is known to use into a store on disk, as far as it is not there, and adds what it
// counts to the totals there.
func (c *Chain) Fetch(ctx context.Context, d *disk.Store, app string) store.Prefetched {
	counts := new(stats.Counters)
	s := tiered.New(d, tiered.Options{Far: c.Far(), Recorder: counts})
	got := s.Prefetch(ctx, app)
	_ = s.Close()
	_ = d.AddStats(counts.Snapshot())
	return got
}

// fetched is what `remote pull --app --json` writes.
type fetched struct {
	App    string `json:"app"`
	Remote string `json:"remote,omitempty"` // that knows the application
	Listed int    `json:"listed"`           // entries that it is known to use
	There  int    `json:"there"`            // of those, in the cache before
	Stored int    `json:"stored"`
	Lists  int    `json:"lists"` // of header files, stored
}

// pullApp puts what an application is known to use into the cache.
func pullApp(ctx context.Context, c cli.Cache, o PullOptions) error {
	if err := remote.CheckApp(o.App); err != nil {
		return cli.Usagef("--app: %v", err)
	}
	return within(c.App, o.Remote, func(chain *Chain) error {
		for _, t := range chain.Tiers {
			if err := chain.reach(ctx, t); err != nil {
				return err
			}
		}
		got := chain.Fetch(ctx, c.Disk, o.App)
		if err := ctx.Err(); err != nil {
			return err
		}
		f := fetched{o.App, got.From, got.Listed, got.Near, got.Came, got.Manifests}
		return c.Report(f, f.Remote != "", func() {
			if f.Remote == "" {
				fmt.Fprintf(c.Err, "kernstash: no remote knows what application %s uses, or none that a trusted key has signed: 'remote push --as' says it\n",
					human.Printable(f.App, false))
				return
			}
			a := f.Listed - f.There - f.Stored
			c.Printf("application %s, by %s: pulled %s of %d and %s of header files; %d were there", human.Printable(f.App, false), human.Printable(f.Remote, false),
				human.Plural(f.Stored, "entry"), f.Listed, human.Plural(f.Lists, "list"), f.There)
			if a > 0 {
				c.Printf(", %d in no remote", a)
			}
			c.Printf("\n")
		})
	})
}
