package remotes

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/trust"
)

// pinged is what `remote ping --json` writes.
type pinged struct {
	Tenant  string       `json:"tenant"`
	Signer  string       `json:"signer,omitempty"` // fingerprint of the key that signs
	Trusted int          `json:"trusted"`          // keys whose signatures count
	Problem string       `json:"problem,omitempty"`
	Remotes []pingedTier `json:"remotes"`
}

// pingedTier is what was found out about one remote. What was not refused works.
type pingedTier struct {
	Remote  string   `json:"remote"`
	TripMS  float64  `json:"round_trip_ms"` // the least of some
	Read    string   `json:"read"`          // "ok", or why not
	Write   string   `json:"write"`
	List    string   `json:"list"`
	Leases  string   `json:"leases"`
	SkewSec *float64 `json:"clock_skew_s,omitempty"` // how far its clock is ahead, where it tells
}

const (
	ok          = "ok"
	unsupported = "none"
	late        = "no answer in time"
	trips       = 5
	// grain is the precision of the times that remotes tell.
	grain = time.Second
	// pingLease is how long a lease lasts that nobody can give back.
	pingLease = 5 * time.Second
)

// Ping says of each remote whether it answers, and what may be done there. It writes one object,
// reads it and deletes it. With write a remote that cannot be written is a failure, too.
func Ping(ctx context.Context, a *cli.App, only string, write bool) error {
	return within(a, only, func(c *Chain) error {
		r := pinged{Tenant: c.Tenant, Trusted: len(c.Trust.Keys())}
		if c.Sign != nil {
			r.Signer = trust.Fingerprint(c.Sign.Public().(ed25519.PublicKey))
		}
		r.Problem = c.problem()
		good := r.Problem == ""
		for _, t := range c.Tiers {
			p := c.ping(ctx, t)
			if err := ctx.Err(); err != nil {
				return err
			}
			good = good && p.Read == ok && (!write || p.Write == ok)
			r.Remotes = append(r.Remotes, p)
		}
		return a.Report(r, good, func() { r.text(a) })
	})
}

// problem says what is wrong with signatures, whatever the remotes are.
func (c *Chain) problem() string {
	switch {
	case c.Trust.Err() != nil:
		return "nothing is trusted: " + c.Trust.Err().Error()
	case !c.Trust.IsSet():
		return ""
	case c.Sign != nil:
		if err := c.Trust.Check(c.Sign.Public().(ed25519.PublicKey)); err != nil {
			return "what is put here is not trusted here: " + err.Error()
		}
	}
	return ""
}

func (c *Chain) ping(ctx context.Context, t Tier) (p pingedTier) {
	p = pingedTier{Remote: t.Name, Read: "not asked", Write: "not asked", List: "not asked", Leases: "not asked"}
	word := make([]byte, 32)
	_, _ = rand.Read(word)
	name := t.Store.Prefix() + "ping/" + hex.EncodeToString(word)
	call := func(do func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		return do(ctx)
	}
	var least time.Duration
	for i := range trips {
		begin := time.Now()
		err := call(func(ctx context.Context) error { _, err := t.Objects.Get(ctx, name, 1); return missing(err) })
		if err != nil {
			p.Read = without(t, name, err)
			return p
		}
		if took := time.Since(begin); i == 0 || took < least {
			least = took
		}
	}
	p.TripMS, p.Read = human.Millis(least), ok

	begin := time.Now()
	err := call(func(ctx context.Context) error { return t.Objects.Put(ctx, name, word, false) })
	put := time.Now()
	p.Write = said(err)
	var modified time.Time
	p.List = said(call(func(ctx context.Context) error {
		for o, err := range t.Objects.List(ctx, t.Store.Prefix()+"ping/") {
			if err != nil {
				return err
			}
			if o.Name == name {
				modified = o.Modified
			}
		}
		return nil
	}))
	if err == nil {
		p.Write = said(call(func(ctx context.Context) error {
			b, err := t.Objects.Get(ctx, name, 100)
			if err == nil && !bytes.Equal(b, word) {
				err = errors.New("what was written reads back as something else")
			}
			return err
		}))
		if err := call(func(ctx context.Context) error { return t.Objects.Delete(ctx, name) }); err != nil {
			p.Write = "written, but not deleted: " + said(err)
		}
	}
	if !modified.IsZero() {
		p.SkewSec = new(skew(begin, put, modified).Seconds())
	}
	p.Leases = unsupported
	if l := t.Leaser(); l != nil {
		p.Leases = said(call(func(ctx context.Context) error {
			held, err := l.Acquire(ctx, "lease/"+c.Tenant+"/"+hex.EncodeToString(word), pingLease)
			if err != nil {
				return err
			}
			return held.Release(ctx)
		}))
	}
	return p
}

// skew returns how far a clock is ahead that has written a time between two of ours: 0 where it may
// be right.
func skew(begin, end, written time.Time) time.Duration {
	switch {
	case written.Before(begin.Add(-grain)):
		return written.Sub(begin)
	case written.After(end.Add(grain)):
		return written.Sub(end)
	}
	return 0
}

// said is what became of a call.
func said(err error) string {
	switch {
	case err == nil:
		return ok
	case errors.Is(err, remote.ErrUnsupported):
		return unsupported
	case errors.Is(err, context.DeadlineExceeded):
		return late
	}
	return err.Error()
}

func (r *pinged) text(a *cli.App) {
	for _, p := range r.Remotes {
		var parts []string
		for _, of := range []struct{ what, state string }{{"read", p.Read}, {"write", p.Write}, {"list", p.List}, {"leases", p.Leases}} {
			switch of.state {
			case ok:
				parts = append(parts, of.what)
			case "not asked":
			case unsupported:
				parts = append(parts, "no "+of.what)
			default:
				parts = append(parts, fmt.Sprintf("no %s (%s)", of.what, human.Printable(of.state, false)))
			}
		}
		a.Printf("%s: ", human.Printable(p.Remote, false))
		if p.Read == ok {
			a.Printf("%.2f ms, ", p.TripMS)
		}
		a.Printf("%s\n", strings.Join(parts, ", "))
		if todo := advice(p.Read); p.Read != ok && todo != "" {
			a.Printf("  %s\n", todo)
		}
		if p.SkewSec != nil && *p.SkewSec != 0 {
			a.Printf("  its clock is %+.0f s ahead of this machine's\n", *p.SkewSec)
		}
	}
	a.Printf("tenant %s; ", r.Tenant)
	switch {
	case r.Trusted > 0:
		a.Printf("signatures of %s count; ", human.Plural(r.Trusted, "key"))
	case r.Problem == "":
		a.Printf("signatures are not asked for; ")
	}
	if r.Signer == "" {
		a.Printf("what is put here is not signed\n")
	} else {
		a.Printf("what is put here is signed by %s\n", r.Signer)
	}
	if r.Problem != "" {
		a.Printf("%s\n", human.Printable(r.Problem, false))
	}
}
