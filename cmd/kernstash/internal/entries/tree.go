package entries

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// sums are what entries are together.
type sums struct {
	Name    string  `json:"name"` // "": nobody knows
	Entries int64   `json:"entries"`
	Size    int64   `json:"size"`
	CostMS  float64 `json:"cost_ms"`
	SavedMS float64 `json:"saved_ms"`
}

func (s *sums) add(size int64, costMS, savedMS float64) {
	s.Entries++
	s.Size += size
	s.CostMS += costMS
	s.SavedMS += savedMS
}

// names of a device and of its driver; compilers that need no device have neither, but a version.
func names(d key.Device) (device, driver string) {
	switch {
	case d.Name == "":
		return "", ""
	case rtc.IsAPI(d.API):
		return d.Platform, d.Version
	}
	return d.Platform + " / " + d.Name, d.Driver
}

// branch is a device with its drivers, or a driver with some of its entries.
type branch struct {
	sums
	Drivers []*branch     `json:"drivers,omitempty"`
	First   []EntryReport `json:"first,omitempty"` // of a driver, those that saved most
}

// maxLeaves is how many entries of a driver are shown.
const maxLeaves = 20

// child returns the branch of a name, which is new if there is none.
func child(all *[]*branch, name string) *branch {
	i := slices.IndexFunc(*all, func(b *branch) bool { return b.Name == name })
	if i < 0 {
		i = len(*all)
		*all = append(*all, &branch{sums: sums{Name: name}})
	}
	return (*all)[i]
}

func (b *branch) keep(r EntryReport) {
	i, _ := slices.BinarySearchFunc(b.First, r, func(a, b EntryReport) int {
		return cmp.Or(cmp.Compare(b.SavedMS, a.SavedMS), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Key, b.Key))
	})
	if i < maxLeaves {
		b.First = slices.Insert(b.First, i, r)
		b.First = b.First[:min(len(b.First), maxLeaves)]
	}
}

// tree writes the entries by device and driver: of each driver those that saved most, and how many there are.
func (w *entryWriter) tree(ctx context.Context) error {
	devices := []*branch{}
	err := w.each(ctx, func(info store.Info) {
		name, driverName := names(info.Device)
		device := child(&devices, name)
		driver := child(&device.Drivers, driverName)
		r := w.report(info)
		_, saved := w.wanted.use(w.of(info))
		r.SavedMS = human.Millis(saved)
		device.add(info.Size, r.CostMS, r.SavedMS)
		driver.add(info.Size, r.CostMS, r.SavedMS)
		driver.keep(r)
	})
	if err != nil {
		return err
	}
	bySize := func(a, b *branch) int { return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(a.Name, b.Name)) }
	slices.SortFunc(devices, bySize)
	for _, d := range devices {
		slices.SortFunc(d.Drivers, bySize)
	}
	return w.Report(devices, true, func() {
		for _, d := range devices {
			w.branch("", d)
			for _, v := range d.Drivers {
				w.branch("  ", v)
				for _, r := range v.First {
					w.line(fmt.Sprintf("    %-12s  %9s  %9s  %s", r.Key[:min(12, len(r.Key))], human.Size(r.Size), timeMS(r.SavedMS), kernelNames(r.Kernels, 0)))
				}
				if more := v.Entries - int64(len(v.First)); more > 0 {
					w.line(fmt.Sprintf("    and %d more", more))
				}
			}
		}
		w.summary(ctx)
	})
}

func (w *entryWriter) branch(indent string, b *branch) {
	saved := ""
	if b.SavedMS > 0 {
		saved = ", " + timeMS(b.SavedMS) + " saved"
	}
	w.line(fmt.Sprintf("%s%s: %s, %s%s", indent, unknown(b.Name), human.Plural(b.Entries, "entry"), human.Size(b.Size), saved))
}

func unknown(name string) string { return human.Printable(cmp.Or(name, "unknown"), false) }
