package rtc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/arithmetic"
)

// Compiler compiles through a cache. It is safe for concurrent use.
type Compiler struct {
	cache   *kernstash.Cache
	library *Library
	options kernstash.ContextOptions

	mu       sync.Mutex
	contexts map[string]*kernstash.Context[*Output, struct{}] // by Runtime.Dir
	closed   bool
}

// NewCompiler returns a Compiler of a library. Close it before the cache.
func NewCompiler(c *kernstash.Cache, l *Library, o kernstash.ContextOptions) *Compiler {
	o.OptionsAsGiven = true
	return &Compiler{cache: c, library: l, options: o, contexts: make(map[string]*kernstash.Context[*Output, struct{}])}
}

// Library returns the library.
func (c *Compiler) Library() *Library { return c.library }

// maxContexts bounds the directories that names of programs may have. Programs
// beyond are compiled each time.
const maxContexts = 256

// Compile returns what compiling makes: from memory, else from disk, else by the
// library. Errors are those of Library.Compile, of ctx, and kernstash.ErrClosed;
// never the cache's.
func (c *Compiler) Compile(ctx context.Context, r Request) (*Output, error) {
	q, err := c.library.Core(r)
	if err != nil || !arithmetic.Default() { // here, and not in a program that others ask for
		return c.library.Compile(r)
	}
	x, err := c.Context(SearchDir(r))
	if errors.Is(err, kernstash.ErrClosed) {
		return nil, err
	}
	if err != nil {
		return c.library.Compile(r)
	}
	p, err := x.Program(ctx, q)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	return p.Native(0)
}

var errDirectories = errors.New("too many directories in names of programs")

// Context returns the core's context for programs that look for files in a directory;
// see SearchDir. It is the Compiler's to close.
func (c *Compiler) Context(dir string) (*kernstash.Context[*Output, struct{}], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch x := c.contexts[dir]; {
	case c.closed:
		return nil, fmt.Errorf("compiler: %w", kernstash.ErrClosed)
	case x != nil:
		return x, nil
	case len(c.contexts) >= maxContexts:
		return nil, errDirectories
	}
	x := kernstash.NewContext(c.cache, Runtime{c.library, dir}, c.options)
	c.contexts[dir] = x
	return x, nil
}

// Close waits for what is under way. After it every call returns
// kernstash.ErrClosed.
func (c *Compiler) Close() error {
	c.mu.Lock()
	c.closed = true
	all := c.contexts
	c.mu.Unlock()
	var err error
	for _, x := range all {
		err = errors.Join(err, x.Close())
	}
	return err
}
