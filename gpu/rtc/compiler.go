package rtc

import (
	"context"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/arithmetic"
)

// Compiler compiles through a cache. It is safe for concurrent use.
type Compiler struct {
	library *Library
	core    *kernstash.Context[*Output, struct{}]
}

// NewCompiler returns a Compiler of a library. Close it before the cache.
func NewCompiler(c *kernstash.Cache, l *Library, o kernstash.ContextOptions) *Compiler {
	o.OptionsAsGiven = true
	return &Compiler{l, kernstash.NewContext(c, Runtime{l}, o)}
}

// Library returns the library.
func (c *Compiler) Library() *Library { return c.library }

// Compile returns what compiling makes: from memory, else from disk, else by the
// library. Errors are those of Library.Compile, of ctx, and kernstash.ErrClosed;
// never the cache's.
func (c *Compiler) Compile(ctx context.Context, r Request) (*Output, error) {
	q, err := c.library.Core(r)
	if err != nil || !arithmetic.Default() { // here, and not in a program that others ask for
		return c.library.Compile(r)
	}
	p, err := c.core.Program(ctx, q)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	return p.Native(0)
}

// Context returns the core's context. It is the Compiler's to close.
func (c *Compiler) Context() *kernstash.Context[*Output, struct{}] { return c.core }

// Close waits for what is under way. After it every call returns
// kernstash.ErrClosed.
func (c *Compiler) Close() error { return c.core.Close() }
