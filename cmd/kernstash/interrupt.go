package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruptible returns a context that the first interrupt cancels. What is
// under way may take its time to end, a compiler for instance, which nobody can
// stop; people are told so, and the second interrupt ends the process as if
// nobody listened. The function that is returned gives everything back.
func (a *app) interruptible() (context.Context, func()) {
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
			if isTerminal(a.err) {
				fmt.Fprintln(a.err)
			}
			fmt.Fprintln(a.err, "kernstash: interrupted; waiting for what is under way; interrupt again to end at once")
		}
	}()
	return ctx, func() {
		close(ended)
		stop()
	}
}

// interruption returns what to say about an error that comes of an interrupt.
func interruption(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return errors.New("interrupted")
	}
	return err
}
