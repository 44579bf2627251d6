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

// Image is a device image to build: a snapshot of code and of the headers that
// are given with it, taken when it is made. Making it hashes the code and looks
// for what makes it uncacheable, so make it once and use it for many requests.
// It is safe for concurrent use.
//
// Header files are looked at by the first request for the image with given
// options, constants and devices. Later requests of that kind mean the files as
// they were then, as long as the Image lives and is not asked for in hundreds of
// other ways: make a new one, as one makes a new program of the driver, to build
// what they are now.
type Image struct {
	*key.Image

	// CompileOptions and LinkOptions are options that belong to the image
	// itself; they come before those of a request. Set them before first use.
	CompileOptions, LinkOptions string

	scanned *engine.Image
}

// NewImage returns the image of one translation unit. Headers are those that
// the code includes by name and that are no files. Where what the code reads
// cannot be known (it includes headers in memory and files, or the time of day),
// the image is uncacheable: it is built, and shared in memory by those who use
// this very Image, but not stored. Empty code, or a header given twice, is an
// error that wraps key.ErrEmpty or key.ErrDuplicate.
func NewImage(kind key.Kind, code []byte, headers ...key.Header) (*Image, error) {
	return NewImageSet(key.Unit{Kind: kind, Code: code, Headers: headers})
}

// NewImageSet returns the image of several units that are compiled each and
// linked together, in an order that is always the same for the same units. Where the
// order means something, see NewImageSequence.
func NewImageSet(units ...key.Unit) (*Image, error) { return newImage(key.NewImageSet(units...)) }

// NewImageSequence returns the image of several units, or of one, that are compiled
// each and linked in this order: of two definitions of a name the order may tell which
// one counts, and of a unit that is linked alone a compiler may make other code than of
// one that is built in one step. What the OpenCL layer keeps of clLinkProgram are such.
func NewImageSequence(units ...key.Unit) (*Image, error) {
	return newImage(key.NewImageSequence(units...))
}

// newImage scans the code of an image, if there is one.
func newImage(img *key.Image, err error) (*Image, error) {
	if err != nil {
		return nil, err
	}
	m := &Image{Image: img, scanned: engine.NewImage(img)}
	m.scanned.Owner = m
	return m, nil
}

// IncludesFiles reports whether the code may include header files, so that what it means
// changes with them, or names where files are, as __FILE__.
func (m *Image) IncludesFiles() bool { return m.scanned.ReadsFiles() }
