package kernstash

import (
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Request asks for a program. Its parts must not change while it is in use;
// the Request itself is small and passed by value.
type Request struct {
	// Image is what to build.
	Image *Image

	// Constants are the specialization constants, in any order, each id once.
	Constants []key.SpecConstant

	// CompileOptions and LinkOptions are given to the driver, behind those of
	// the image and of the environment.
	CompileOptions, LinkOptions string

	// Attributes are what a front end adds that is no option; the Runtime says
	// what they mean. They are in the key: in any order, but those of one name in
	// theirs. Of CUDA C++ that reads files the core decides which of
	// deps.SourceDirectory and deps.SourceParent are, by how what is built depends
	// on them.
	Attributes []key.Pair

	// Unkeyed are attributes that are in no key: the caller answers for it that
	// what is built is the same without them.
	Unkeyed []key.Pair

	// NoOptions says that there are no compile options at all, C's NULL, which
	// some drivers tell from an empty string: to PoCL they are two programs. It
	// means nothing where there are any, from whatever source.
	NoOptions bool

	// NoLinkOptions says the same of the link options. Where nothing is linked it means
	// nothing, and must not be set.
	NoLinkOptions bool

	// Devices are ordinals of the context's devices; none means all of them.
	Devices []int
}

// ErrInvalid is wrapped by errors about requests that make no sense.
var ErrInvalid = engine.ErrInvalid

// engine returns the request as the engine knows it.
func (r *Request) engine() engine.Request {
	own := engine.Request{
		Constants: r.Constants, CompileOptions: r.CompileOptions, LinkOptions: r.LinkOptions,
		NoOptions: r.NoOptions, NoLinkOptions: r.NoLinkOptions, Attributes: r.Attributes, Unkeyed: r.Unkeyed, Devices: r.Devices,
	}
	if r.Image != nil {
		own.Image, own.ImageCompileOptions, own.ImageLinkOptions = r.Image.scanned, r.Image.CompileOptions, r.Image.LinkOptions
	}
	return own
}

// requestOf returns the request that the engine has.
func requestOf(r engine.Request) Request {
	own := Request{
		Constants: r.Constants, CompileOptions: r.CompileOptions, LinkOptions: r.LinkOptions,
		NoOptions: r.NoOptions, NoLinkOptions: r.NoLinkOptions, Attributes: r.Attributes, Unkeyed: r.Unkeyed, Devices: r.Devices,
	}
	if r.Image != nil {
		own.Image = r.Image.Owner.(*Image)
	}
	return own
}
