package redis

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

// An object that somebody follows with a [store.Flow] is read in pieces, as go-redis returns a reply when all of
// it is there.
const (
	firstPiece = 64 << 10 // most objects are no larger: they take one round trip

	// The next pieces are such as come in this time, at the pace of the one before. No line is trusted to
	// go on at the pace of a burst.
	pieceTime     = 50 * time.Millisecond
	smallestPiece = 16 << 10
	largestPiece  = 256 << 10

	// So much of the beginning is read again with each piece. Objects that differ differ there: their
	// heads hold the digest of the rest.
	beginning = 1 << 10
)

var errReplaced = errors.New("it was replaced while it was read")

// patient is a context that tells of a later deadline. The one that it is of may end before.
type patient struct {
	context.Context
	until time.Time
}

func (c patient) Deadline() (time.Time, bool) { return c.until, true }

// getInPieces returns a value of limit+1 bytes at most; where it has more, remote.ErrTooLarge, or more. flow is told of what
// comes. Each piece has as long to come as ctx has left now: who follows it ends the call where that is too slow.
func (o *Objects) getInPieces(ctx context.Context, flow store.Flow, key string, limit int64) ([]byte, error) {
	patience := callTimeout
	if end, ok := ctx.Deadline(); ok {
		patience = time.Until(end)
	}
	b, err := o.pieces(ctx, flow, key, limit, patience)
	if errors.Is(err, errReplaced) {
		b, err = o.pieces(ctx, flow, key, limit, patience)
	}
	return b, err
}

func (o *Objects) pieces(ctx context.Context, flow store.Flow, key string, limit int64, patience time.Duration) ([]byte, error) {
	first, begin := min(firstPiece, limit+2), time.Now()
	b, err := call(ctx, func() ([]byte, error) {
		return o.client.GetRange(patient{ctx, begin.Add(patience)}, key, 0, first-1).Bytes()
	})
	if err != nil || len(b) == 0 {
		return nil, err
	}
	if err := flow.Expect(ctx, int64(len(b))); err != nil {
		return nil, err
	}
	if err := flow.Moved(len(b)); err != nil || len(b) != firstPiece {
		return b, err
	}
	begun := bytes.Clone(b[:beginning])
	for came, expected := len(b), false; ; expected = true {
		pace := float64(came) / max(time.Since(begin), time.Microsecond).Seconds()
		n := max(smallestPiece, min(int64(pace*pieceTime.Seconds()), 2*int64(came), largestPiece))
		begin = time.Now()
		p, err := o.piece(patient{ctx, begin.Add(patience)}, key, int64(len(b)), min(n, limit+2-int64(len(b))))
		switch got := int64(len(b) + len(p.bytes)); {
		case err != nil:
			return nil, err
		case !bytes.Equal(p.beginning, begun), got > p.size, got < p.size && len(p.bytes) == 0:
			return nil, errReplaced
		case objectSize(p.size, b[0]) > limit:
			return nil, remote.ErrTooLarge
		}
		if !expected {
			if err := flow.Expect(ctx, p.size-int64(len(b))); err != nil {
				return nil, err
			}
			b = slices.Grow(b, int(p.size)-len(b))
		}
		if err := flow.Moved(len(p.bytes)); err != nil {
			return nil, err
		}
		if b, came = append(b, p.bytes...), len(p.bytes); int64(len(b)) == p.size {
			return b, nil
		}
	}
}

// A piece is a part of a value, with the value's size and beginning at that moment.
type piece struct {
	size             int64
	beginning, bytes []byte
}

func (o *Objects) piece(ctx context.Context, key string, from, n int64) (piece, error) {
	return call(ctx, func() (p piece, err error) {
		pipe := o.client.Pipeline()
		size, begun, part := pipe.StrLen(ctx, key), pipe.GetRange(ctx, key, 0, beginning-1), pipe.GetRange(ctx, key, from, from+n-1)
		if _, err := pipe.Exec(ctx); err != nil {
			return p, err
		}
		p.size = size.Val()
		p.beginning, _ = begun.Bytes()
		p.bytes, _ = part.Bytes()
		return p, nil
	})
}
