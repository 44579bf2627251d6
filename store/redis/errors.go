package redis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/kernstash/kernstash/store/remote"
)

// isReply reports whether an error is what a server answered to one command.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// wrap returns an error of a call, nil for nil: remote.ErrFull where the server has no memory
// left, fs.ErrPermission where the user may not, context.DeadlineExceeded where time ran out.
// None shows a password, which servers older than Redis 6 repeat in their answer.
func (o *Objects) wrap(ctx context.Context, op, subject string, err error) error {
	if err == nil {
		return nil
	}
	var timeout net.Error
	kind := error(nil)
	switch {
	case ctx.Err() != nil:
		kind = ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		kind = context.DeadlineExceeded
	case hasCode(err, "OOM"):
		kind = remote.ErrFull
	case hasCode(err, "NOPERM", "NOAUTH", "WRONGPASS", "READONLY") || strings.Contains(err.Error(), "failed to authenticate"):
		kind = fs.ErrPermission
	}
	// Only the text of the cause: what it wraps is not masked.
	text := o.mask(err.Error())
	switch {
	case kind == nil:
		return fmt.Errorf("%s %s in %s: %s", op, subject, o.target, text)
	case text == kind.Error():
		return fmt.Errorf("%s %s in %s: %w", op, subject, o.target, kind)
	}
	return fmt.Errorf("%s %s in %s: %w: %s", op, subject, o.target, kind, text)
}

// hasCode reports whether a server's answer begins with one of these words. Scripts put the
// answers of their commands into their own.
func hasCode(err error, codes ...string) bool {
	if !isReply(err) {
		return false
	}
	for _, code := range codes {
		if text := err.Error(); strings.HasPrefix(text, code+" ") || strings.Contains(text, " "+code+" ") {
			return true
		}
	}
	return false
}

// mask returns a text without passwords.
func (o *Objects) mask(text string) string {
	for _, s := range o.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return text
}
