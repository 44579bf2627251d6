// Package spool is the durable list of work for the worker: what an application
// saw and could not do itself, or not in time. A job says what to build, for
// which launches, and in which environment; it outlives the process that added
// it, and the container that the process ran in, if the cache does.
//
//	<root>/.meta/spool/<environment>/<key>.<kind>             a job
//	                                /<key>.<kind>.<digits>    a launch that was added to it later
//	                                /<key>.<kind>.tries       what became of it so far
//	                                /<key>.<kind>.refused     launches that it is not done for
//
// Each launch that is added later is a file of its own, so that adding takes no
// lock, and of equal jobs from many processes one is kept, with the launches of
// all. Nothing in the spool is believed: the worker works every key out anew.
package spool

import (
	"context"
	"strings"
	"time"

	"github.com/kernstash/kernstash/store"
)

// Store is what a store offers that keeps a spool. A file of the spool has a name of 32
// digits, then one or two words behind dots, in a directory with a name of 32 digits.
type Store interface {
	store.Blobs

	// SpoolPut makes a file of what write returns, which is not called where there is such
	// a file already: then made is false. It takes no lock, and the file appears complete
	// or not at all. Over the limit of the store the error wraps store.ErrDropped.
	SpoolPut(ctx context.Context, dir, name string, write func() ([]byte, error)) (made bool, err error)

	// SpoolRead returns what a file holds. One of more than limit bytes is an error
	// that wraps store.ErrTooLarge.
	SpoolRead(ctx context.Context, dir, name string, limit int64) ([]byte, File, error)

	// SpoolRemove removes a file, unless another one has its name by now. One that is
	// gone is no error.
	SpoolRemove(ctx context.Context, f File) error

	// SpoolFiles returns the files, in no order.
	SpoolFiles(ctx context.Context) ([]File, error)
}

// File is a file of a spool.
type File struct {
	Dir, Name string

	Size     int64
	Modified time.Time
	ID       uint64 // another file of this name has another one, or was modified at another time
}

// Job returns the name of the job that the file belongs to, and whether it is
// the job itself; else it is a part of it.
func (f File) Job() (name string, whole bool) {
	words := strings.SplitN(f.Name, ".", 3)
	if len(words) < 2 {
		return "", false
	}
	return words[0] + "." + words[1], len(words) == 2
}
