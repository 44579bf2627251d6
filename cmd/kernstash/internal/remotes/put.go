package remotes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/trust"
)

// putTimeout bounds one upload that no application waits for. A remote that does not answer within
// the setting remote-timeout is not tried with more than a small call first.
const putTimeout = 30 * time.Second

// entryOf reads an entry of a store on disk, with its recipe and what says under whose signature it came.
func entryOf(ctx context.Context, d *disk.Store, k key.Key) (*store.Entry, error) {
	e, err := d.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	var head []byte
	if e.Recipe, err = d.Recipe(ctx, k); err == nil {
		head, err = d.Seal(ctx, k)
	}
	if head != nil {
		e.Seal = &store.Seal{Head: head}
	}
	return e, err
}

// put puts an entry into a remote. A remote that takes none of its size succeeds.
func put(ctx context.Context, t Tier, e *store.Entry) (store.PutResult, error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	res, err := t.Store.Put(ctx, e)
	if errors.Is(err, remote.ErrTooLarge) || errors.Is(err, store.ErrTooLarge) {
		return store.Failed, errTooLarge
	}
	return res, err
}

// errTooLarge says that a remote takes no object of that size. Another may.
var errTooLarge = errors.New("too large for it")

// reach reports whether a remote answers, in the time of one call. Its error has the remote's name, and what to do.
func (c *Chain) reach(ctx context.Context, t Tier) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	name := t.Store.Name(key.Key{})
	_, err := t.Objects.Get(ctx, name, 1)
	if err := missing(err); err != nil {
		text := without(t, name, err)
		if todo := advice(text); todo != "" {
			text = strings.TrimRight(text, ".") + "; " + todo
		}
		return fmt.Errorf("%s: %s", t.Name, text)
	}
	return nil
}

// without is what became of getting an object, without the name of the object, which nobody has put there.
func without(t Tier, name string, err error) string {
	text := said(err)
	_, cause, ok := strings.Cut(text, name)
	if !ok {
		return text
	}
	cause = strings.TrimPrefix(cause, " in "+fmt.Sprint(t.Objects))
	return strings.TrimPrefix(cause, ": ")
}

// hints are what to do about what engines say, the first that fits.
var hints = []struct {
	says []string
	todo string
}{
	{[]string{late}, "setting remote-timeout is how long it has"},
	{[]string{"connection refused"}, "is the server running, and is that its port?"},
	{[]string{"no such host"}, "is the name right?"},
	{[]string{"NoSuchBucket"}, "make the bucket, or mend its name in the address"},
	{[]string{"no credentials", "WRONGPASS", "NOAUTH", "InvalidAccessKeyId", "SignatureDoesNotMatch", "401", "InvalidToken", "ExpiredToken"}, "docs/FLEET.md says where credentials are looked for"},
	{[]string{"NOPERM", "403"}, "docs/FLEET.md says which rights a node and a builder need"},
	{[]string{"x509:", "certificate"}, "the parameter ca-file (S3: ca) names the authorities to trust"},
	{[]string{"speak Redis's protocol"}, "is it a Redis, and one without TLS? With TLS the address begins with rediss://"},
}

func advice(text string) string {
	for _, h := range hints {
		if slices.ContainsFunc(h.says, func(s string) bool { return strings.Contains(text, s) }) {
			return h.todo
		}
	}
	return ""
}

// errEveryName says that something answers whatever it is asked, as the page of a login does.
var errEveryName = errors.New("it has an object of every name: what answers there keeps no objects")

// missing returns nil where a remote has said that it lacks an object which nobody has put, else what is wrong.
func missing(err error) error {
	switch {
	case errors.Is(err, remote.ErrNotFound):
		return nil
	case err == nil, errors.Is(err, remote.ErrTooLarge):
		return errEveryName
	}
	return err
}

// Uploader returns what puts an entry of a store on disk into all remotes, for a worker.
func Uploader(c *Chain, d *disk.Store) func(context.Context, key.Key) spool.Outcome {
	return func(ctx context.Context, k key.Key) spool.Outcome {
		e, err := entryOf(ctx, d, k)
		if err != nil {
			return Unread(err)
		}
		out := c.upload(ctx, e)
		if out.State == spool.JobStored || out.State == spool.JobThere {
			c.uploadLists(ctx, d, e)
		}
		return out
	}
}

// uploadLists puts the lists of header files that an entry needs into all remotes, as far as they can be reached: without them
// the entry hits, too, behind a scan.
func (c *Chain) uploadLists(ctx context.Context, d *disk.Store, e *store.Entry) {
	if !ReadsFiles(e.Recipe) {
		return
	}
	lists, err := ReadLists(ctx, d)
	if err != nil {
		return
	}
	for _, t := range c.Tiers {
		_, _ = putLists(ctx, t, lists, lists.Of(e.Recipe))
	}
}

// Unread is what becomes of a job whose entry cannot be read: it stays where the worker was told to end.
func Unread(err error) spool.Outcome {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return spool.Outcome{State: spool.JobElsewhere, Reason: err.Error()}
	}
	return spool.Outcome{State: spool.JobVoid, Reason: "the cache does not have it any more: " + err.Error()}
}

// upload puts an entry into all remotes. Where one of them cannot be reached the job is to be done
// again: what the others have by then costs one small call.
func (c *Chain) upload(ctx context.Context, e *store.Entry) spool.Outcome {
	out := spool.Outcome{State: spool.JobThere}
	refused := 0
	var failed, why []string
	for _, t := range c.Tiers {
		if err := c.reach(ctx, t); err != nil {
			failed = append(failed, err.Error())
			continue
		}
		res, err := put(ctx, t, e)
		switch {
		case errors.Is(err, errTooLarge), errors.Is(err, store.ErrStays), errors.Is(err, trust.ErrUntrusted):
			refused++
			why = append(why, t.Name+": "+err.Error())
		case err != nil:
			failed = append(failed, t.Name+": "+said(err))
		case res == store.Stored, res == store.Bettered:
			out.State = spool.JobStored
		}
	}
	switch {
	case len(failed) > 0:
		return spool.Outcome{State: spool.JobElsewhere, Reason: strings.Join(failed, "; ")}
	case refused == len(c.Tiers):
		return spool.Outcome{State: spool.JobRefused, Reason: strings.Join(why, "; ")}
	}
	return out
}
