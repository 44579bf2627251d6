package http

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

// statusError is a response that a request does not expect.
type statusError struct{ resp *http.Response }

// Error shows nothing that the server has written, which may be what it was sent.
func (e *statusError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.resp.StatusCode, http.StatusText(e.resp.StatusCode))
	if to, err := e.resp.Location(); err == nil && e.resp.StatusCode/100 == 3 {
		text += ", which leads to " + to.Scheme + "://" + to.Host
	}
	return strings.TrimSpace(text)
}

// wrap returns an error of a call, nil for nil: fs.ErrPermission where the user may not,
// store.ErrBusy where there were too many calls, context.DeadlineExceeded where time ran out. None shows a password.
func (o *Objects) wrap(ctx context.Context, op, subject string, err error) error {
	switch err {
	case nil:
		return nil
	case remote.ErrNotFound, remote.ErrExists, remote.ErrTooLarge, remote.ErrUnsupported:
		return err
	}
	var status *statusError
	var timeout net.Error
	kind := error(nil)
	switch {
	case ctx.Err() != nil:
		kind = ctx.Err()
	case errors.As(err, &timeout) && timeout.Timeout():
		kind = context.DeadlineExceeded
	case errors.Is(err, remote.ErrFull):
		kind = remote.ErrFull
	case errors.As(err, &status):
		switch status.resp.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
			kind = fs.ErrPermission
		case http.StatusTooManyRequests:
			kind = store.ErrBusy
		}
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err // else the URL stands there twice
	}
	text := o.mask(err.Error())
	switch {
	case kind == nil:
		return fmt.Errorf("%s %s in %s: %s", op, subject, o, text)
	case text == kind.Error():
		return fmt.Errorf("%s %s in %s: %w", op, subject, o, kind)
	}
	return fmt.Errorf("%s %s in %s: %w: %s", op, subject, o, kind, text)
}

// mask returns a text without passwords and tokens.
func (o *Objects) mask(text string) string {
	for _, s := range o.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	if o.token != "" {
		if token, err := readToken(o.token); err == nil {
			text = strings.ReplaceAll(text, token, "***")
		}
	}
	return text
}
