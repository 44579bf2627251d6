package spool

import (
	"context"
	"strings"

	"github.com/kernstash/kernstash/store/disk"
)

// Tries are what became of a job so far, in a file beside it: so a compiler that
// takes its worker down with it, each time, is not asked for ever.
type Tries struct {
	Begun  int // times that a worker began it
	Failed int // times that its compiler crashed, or took too long
}

// The bytes of the file: one for each thing that happened.
const (
	tryBegun  = "b"
	tryFailed = "f"
	maxTries  = 1000
)

// ReadTries returns what became of a job so far.
func ReadTries(ctx context.Context, s *disk.Store, e *Entry) Tries {
	b, _, err := s.SpoolRead(ctx, e.Environment, e.Name+"."+triesWord, maxTries)
	if err != nil {
		return Tries{}
	}
	text := string(b)
	return Tries{Begun: strings.Count(text, tryBegun), Failed: strings.Count(text, tryFailed)}
}

// WriteTries notes what became of a job. Only the one worker does.
func WriteTries(ctx context.Context, s *disk.Store, e *Entry, t Tries) error {
	name := e.Name + "." + triesWord
	if _, old, err := s.SpoolRead(ctx, e.Environment, name, maxTries); err == nil {
		if err := s.SpoolRemove(ctx, old); err != nil {
			return err
		}
	}
	_, err := s.SpoolPut(ctx, e.Environment, name, func() ([]byte, error) {
		return []byte(strings.Repeat(tryBegun, min(t.Begun, maxTries/2)) + strings.Repeat(tryFailed, min(t.Failed, maxTries/2))), nil
	})
	return err
}
