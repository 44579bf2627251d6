// Package tool is what the command knows of a runtime: how the doctor examines it, what
// files of device code are built with it, and devices that run programs. Each runtime
// describes itself in a package tool of its own.
package tool

import (
	"context"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// Runtime describes a runtime.
type Runtime struct {
	Name, Title string
	Advice      string   // what to install
	Caches      []string // variables that name directories of the driver's own cache

	// Peer is the demonstration's column of the driver alone, Note a sentence about it,
	// and Applications are commands that the demonstration runs where they are: in PATH, or,
	// where they begin with "./", beside the command kernstash.
	Peer, Note   string
	Applications [][]string

	// Files are what it compiles, and Help says so, a line or more for each.
	Files []key.Kind
	Help  string

	// Archs are beginnings of the names of architectures, OfferedArchs some whole ones,
	// for a compiler that needs no device.
	Archs, OfferedArchs []string

	Joined bool // options are one text, which the driver splits at spaces
	Serial bool // it crashes where two programs are compiled at once

	Arguments bool // it tells the arguments of its kernels

	// Compilers are files of it, and of what stands on it.
	Compilers []Compiler

	// Examine looks at what is here.
	Examine func() []Subject

	// Devices returns its devices; none is an error that says what to do. A compiler that
	// needs no device has an Open instead.
	Devices func() ([]Device, error)
	Open    func(BuildOptions) (Builder, error)

	// Job does a job of the spool; nil where nothing is left to a worker.
	Job func(context.Context, *disk.Store, *spool.Job, string) spool.Outcome

	// Identities returns what keys hold of the devices that are here; nil where those of a
	// compiler do. A runtime with a Job has it.
	Identities func() ([]key.Device, error)
}

// Compiler is something that compiles device code while programs run, or a library
// through which programs ask for that.
type Compiler struct {
	Files    []string // how the names of its files begin: libraries, or programs
	Name     string
	Served   bool    // by `kernstash run`
	Text     string  // how it is served, or what to do instead
	FrontEnd string  // how that of a served one begins in reports of 'kernstash run'; "": it has none of its own
	Layers   *Layers // of a loader, which may know layers; nil: it is none
}

// ServedByRun is the Text of most that are served.
const ServedByRun = "served by 'kernstash run'"

// Device is a device of a runtime.
type Device struct {
	Title string     // what --device is compared with
	Takes []key.Kind // what is compiled for it
	Open  func(BuildOptions) (Builder, error)
	Run   func(*kernstash.Cache) (*Machine, error) // the machine is closed before the cache
}
