package tool

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// BuildOptions are how files are built.
type BuildOptions struct {
	Defines, Includes []string
	Options           string
	Words             []string // of Options, split as a shell does; for a compiler that needs no device
	Expressions       []string
	ProgramName       *string // nil: the file's
	LocalSizes        [][3]int
	NoOptions         bool

	Cache  kernstash.Options `json:"-"`
	Disk   disk.Options      `json:"-"`
	Layers []string          `json:"-"` // read-only roots
}

// Flags returns the options that define macros and name directories.
func (o *BuildOptions) Flags() (words []string) {
	for _, d := range o.Defines {
		words = append(words, "-D"+d)
	}
	for _, dir := range o.Includes {
		words = append(words, "-I"+dir)
	}
	return words
}

// CompileOptions returns the options as one text.
func (o *BuildOptions) CompileOptions() string {
	words := o.Flags()
	if o.Options != "" {
		words = append(words, o.Options)
	}
	return strings.Join(words, " ")
}

// Builder builds files of one runtime.
type Builder interface {
	Title() string // what it builds for

	// Build builds a file. An error is why it failed.
	Build(context.Context, File) (Built, error)
	Close() error
}

// File is a file of device code.
type File struct {
	Path string
	Kind key.Kind
	Arch string // "": what the compiler takes without one
}

// Built is what came of a file.
type Built struct {
	Key          key.Key
	NotCacheable string         // why it is not stored
	NotStored    string         // why it is not stored as things are, where nothing was counted that says so
	Counts       stats.Snapshot // of this file alone
}

// ThroughCache builds a program through a Cache of its own, so that what is counted
// tells about that program alone, and waits until it is stored.
func ThroughCache[P interface {
	Key(device int) key.Key
	UncacheableReason() string
	Release()
}](o kernstash.Options, build func(*kernstash.Cache) (P, error)) (got Built, err error) {
	cache, err := kernstash.Open(o)
	if err != nil {
		return got, err
	}
	p, err := build(cache)
	if err != nil {
		return got, errors.Join(err, cache.Close())
	}
	got.Key, got.NotCacheable = p.Key(0), p.UncacheableReason()
	p.Release()
	const storing = time.Minute // a build tool can wait longer than an application
	cache.Flush(storing)
	err = cache.Close()
	if _, dropped := errors.AsType[*kernstash.DroppedError](err); err != nil && !dropped {
		return got, err
	}
	got.Counts = cache.Stats()
	return got, nil
}
