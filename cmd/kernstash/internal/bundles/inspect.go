package bundles

import (
	"cmp"
	"context"
	"fmt"
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
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/trust"
)

// InspectOptions are those of `bundle inspect`.
type InspectOptions struct {
	Here  bool // say what fits this machine
	Leaks bool // look for paths and names in what the files hold
	Trust []string
}

// inspected is what `bundle inspect --json` writes.
type inspected struct {
	Bundle  string           `json:"bundle"`
	By      string           `json:"by"`
	Created time.Time        `json:"created"`
	Signer  string           `json:"signer,omitempty"`
	Entries int              `json:"entries"`
	Bytes   int64            `json:"bytes"`
	Saves   float64          `json:"saves_ms"` // what building all of it took
	Devices []deviceReport   `json:"devices"`
	Caches  []bundle.Harvest `json:"harvested,omitempty"`
	Leaks   []bundle.Leak    `json:"leaks,omitempty"`
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
	trusted, err := publicKeys(o.Trust)
	if err != nil {
		return err
	}
	r, closed, err := Open(name, trusted)
	if err != nil {
		return err
	}
	defer closed()
	rep := inspected{
		Bundle: name, By: r.By, Created: r.Created, Entries: len(r.Entries), Bytes: r.Size(), Devices: make([]deviceReport, len(r.Devices)),
		Caches: r.Harvests,
	}
	if r.Signer != nil {
		rep.Signer = trust.Fingerprint(r.Signer)
	}
	for i, d := range r.Devices {
		rep.Devices[i].Device = d
	}
	for _, e := range r.Entries {
		rep.Saves += human.Millis(time.Duration(e.Cost))
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
	here := make(map[string]listed)
	for i := range r.Devices {
		d := &r.Devices[i]
		of, known := here[d.Device.API]
		if rt := runtimes.Named(d.Device.API); !known && rt != nil && rt.Identities != nil {
			of.can = true
			of.devices, of.err = runtimes.Here(ctx, rt)
			here[d.Device.API] = of
		}
		d.Here, d.Why = of.fits(d.Device)
	}
	return ctx.Err()
}

// listed is what a runtime has here.
type listed struct {
	can     bool // be listed
	devices []key.Device
	err     error
}

// fits reports whether what was built for a device hits on one of those that are here; nil where
// nobody can list devices of that kind.
func (l *listed) fits(d key.Device) (is *bool, why string) {
	yes, no := true, false
	for _, other := range l.devices {
		if other.Digest() == d.Digest() {
			return &yes, ""
		}
		if text := disk.CompareDevices(other, d); why == "" || len(text) < len(why)-len("here ") {
			why = "here " + text
		}
	}
	switch {
	case !l.can:
		return nil, "devices of " + d.API + " cannot be listed"
	case l.err != nil:
		why = "no device of " + d.API + " can be had here: 'kernstash doctor' says why"
	case why == "":
		why = "no device of " + d.API + " is here"
	}
	return &no, why
}

func (r *inspected) write(a *cli.App, o InspectOptions) {
	signed := "not signed"
	if r.Signer != "" {
		signed = "signed by " + r.Signer
	}
	t := a.Terminal()
	a.Printf("%s", human.WrapLines(fmt.Sprintf("%s: %s, %s, made by kernstash %s, the newest of %s, %s; to build it took %s\n", human.Printable(r.Bundle, false),
		human.Plural(r.Entries, "entry"), human.Size(r.Bytes), human.Printable(r.By, false), r.Created.Local().Format(time.DateOnly), signed,
		human.Time(time.Duration(r.Saves*float64(time.Millisecond)))), 2, t.Lines))
	head := []string{"API", "DEVICE", "DRIVER", ">ENTRIES", ">SIZE"}
	if o.Here {
		head = append(head, "HERE")
	}
	var rows [][]string
	for _, d := range r.Devices {
		row := []string{
			human.Printable(d.Device.API, false), human.Printable(d.Device.Name, false), human.Printable(cmp.Or(d.Device.Driver, "–"), false),
			strconv.Itoa(d.Entries), human.Size(d.Bytes),
		}
		if o.Here {
			row = append(row, d.fit())
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		_ = t.WriteTable(a.Out, head, rows) // to memory
	}
	writeCaches(a, r.Caches)
	for _, l := range r.Leaks {
		text := fmt.Sprintf("%s  %s (%s)\n", human.Printable(l.Text, false), human.Printable(l.File, false), human.Plural(l.In, "file"))
		a.Printf("%s", human.WrapLines(text, 4, t.Lines))
	}
	if o.Leaks && len(r.Leaks) == 0 {
		a.Printf("no path and no name of this machine is in it\n")
	}
}

func (d *deviceReport) fit() string {
	switch {
	case d.Here == nil:
		return "not known: " + human.Printable(d.Why, false)
	case *d.Here:
		return "fits"
	}
	return "no: " + human.Printable(strings.Join(strings.Fields(d.Why), " "), false)
}
