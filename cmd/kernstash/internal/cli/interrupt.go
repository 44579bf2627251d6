package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
)

// Interruptible returns a context that the first interrupt cancels. What is
// under way may take its time to end, a compiler for instance, which nobody can
// stop; people are told so, and the second interrupt ends the process as if
// nobody listened. The function that is returned gives everything back.
func (a *App) Interruptible() (context.Context, func()) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		stop()
		select {
		case <-ended:
		case <-time.After(time.Second):
			if terminal.IsTerminal(a.Err) {
				fmt.Fprintln(a.Err)
			}
			fmt.Fprintln(a.Err, "kernstash: interrupted; waiting for what is under way; interrupt again to end at once")
		}
	}()
	return ctx, func() {
		close(ended)
		stop()
	}
}

// Interruption returns what to say about an error that comes of an interrupt.
func Interruption(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return errors.New("interrupted")
	}
	return err
}
