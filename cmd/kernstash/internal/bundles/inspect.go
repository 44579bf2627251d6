package bundles

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
)

// InspectOptions are those of `bundle inspect`.
type InspectOptions struct {
	Here  bool // say what fits this machine
	Leaks bool // look for paths and names in what the files hold
	Trust []string
}

// inspected is what `bundle inspect --json` writes.
type inspected struct {
	Bundle  string         `json:"bundle"`
	By      string         `json:"by"`
	Created time.Time      `json:"created"`
	Signer  string         `json:"signer,omitempty"`
	Entries int            `json:"entries"`
	Bytes   int64          `json:"bytes"`
	Saves   int64          `json:"saves_ns"` // what building all of it took
	Devices []deviceReport `json:"devices"`
	Leaks   []bundle.Leak  `json:"leaks,omitempty"`
}

type deviceReport struct {
	Device  key.Device `json:"device"`
	Entries int        `json:"entries"`
	Bytes   int64      `json:"bytes"`
	Here    *bool      `json:"here,omitempty"` // whether it fits; absent where that is not known
	Why     string     `json:"why,omitempty"`  // not, or what is not known
}

// Inspect says what is in a bundle. It reads and checks every file.
func Inspect(ctx context.Context, a *cli.App, name string, o InspectOptions) error {
	r, closed, err := Open(name, o.Trust)
	if err != nil {
		return err
	}
	defer closed()
	rep := inspected{
		Bundle: name, By: r.By, Created: r.Created, Entries: len(r.Entries), Bytes: r.Size(), Devices: make([]deviceReport, len(r.Devices)),
	}
	if r.Signer != nil {
		rep.Signer = bundle.Fingerprint(r.Signer)
	}
	for i, d := range r.Devices {
		rep.Devices[i].Device = d
	}
	for _, e := range r.Entries {
		rep.Saves += e.Cost
		rep.Devices[e.Device].Entries++
		rep.Devices[e.Device].Bytes += e.Size
	}
	if o.Leaks {
		rep.Leaks, err = r.Leaks(ctx, names()...)
	} else {
		err = r.Each(ctx, func(bundle.File, io.Reader) error { return nil })
	}
	if err != nil {
		return err
	}
	if o.Here {
		if err := rep.compare(ctx); err != nil {
			return err
		}
	}
	return a.Report(rep, true, func() { rep.write(a, o) })
}

// names are those of the user and the machine, which a bundle should not tell.
func names() (all []string) {
	if u, err := user.Current(); err == nil && u.Username != "root" {
		all = append(all, u.Username)
	}
	if host, err := os.Hostname(); err == nil && host != "localhost" {
		all = append(all, host)
	}
	return slices.DeleteFunc(all, func(name string) bool { return len(name) < 3 })
}

// compare says of each device whether it is here, or what differs from the one that is nearest.
func (r *inspected) compare(ctx context.Context) error {
	var here []key.Device
	// Drivers may end a process that loads them.
	if err := cli.AskPart(ctx, "worker-devices", struct{}{}, nil, nil, &here); err != nil {
		return err
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		d.Here, d.Why = fits(d.Device, here)
	}
	return nil
}

// fits reports whether what was built for a device hits on one of those that are here; nil where
// nobody can list devices of that kind.
func fits(d key.Device, here []key.Device) (is *bool, why string) {
	yes, no := true, false
	least := 0
	for _, other := range here {
		if other.API != d.API {
			continue
		}
		if other.Digest() == d.Digest() {
			return &yes, ""
		}
		if text := disk.CompareDevices(other, d); why == "" || len(text) < least {
			why, least = "here "+text, len(text)
		}
	}
	switch {
	case why != "":
		return &no, why
	case slices.Contains(runtimes.Names(func(rt *tool.Runtime) bool { return rt.Identities != nil }), d.API):
		return &no, "no device of " + d.API + " is here"
	}
	return nil, "devices of " + d.API + " cannot be listed"
}

func (r *inspected) write(a *cli.App, o InspectOptions) {
	signed := "not signed"
	if r.Signer != "" {
		signed = "signed by " + r.Signer
	}
	a.Printf("%s: %s, %s, made by kernstash %s, the newest of %s, %s; to build it took %s\n", human.Printable(r.Bundle, false),
		human.Plural(r.Entries, "entry"), human.Size(r.Bytes), human.Printable(r.By, false), r.Created.Local().Format(time.DateOnly), signed,
		human.Time(time.Duration(r.Saves)))
	head := []string{"API", "DEVICE", "DRIVER", ">ENTRIES", ">SIZE"}
	if o.Here {
		head = append(head, "HERE")
	}
	var rows [][]string
	for _, d := range r.Devices {
		row := []string{
			d.Device.API, human.Printable(d.Device.Name, false), human.Printable(cmp.Or(d.Device.Driver, "–"), false),
			strconv.Itoa(d.Entries), human.Size(d.Bytes),
		}
		if o.Here {
			row = append(row, d.fit())
		}
		rows = append(rows, row)
	}
	_ = terminal.WriteTable(a.Out, head, rows) // to memory
	for _, l := range r.Leaks {
		a.Printf("%s  %s (%s)\n", human.Printable(l.Text, false), l.File, human.Plural(l.In, "file"))
	}
	if o.Leaks && len(r.Leaks) == 0 {
		a.Printf("no path and no name of this machine is in it\n")
	}
}

func (d *deviceReport) fit() string {
	switch {
	case d.Here == nil:
		return "not known: " + d.Why
	case *d.Here:
		return "fits"
	}
	return "no: " + human.Printable(strings.Join(strings.Fields(d.Why), " "), false)
}
