package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/store"
)

func (a *app) lsCommand() *cobra.Command {
	var long bool
	var sort string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List what is in the cache",
		Long: `List the entries of the cache. Unsorted, each is shown as soon as it is found,
so a cache of any size begins to appear at once.

With --json each entry is one JSON object on a line of its own. An entry that
cannot hit, because it is damaged or of another version, is marked with why.

EXIT STATUS
  0  listed
  1  the cache could not be read
  2  a flag makes no sense`,
		Example: `  kernstash ls
  kernstash ls --sort size --long
  kernstash ls --json | jq -s 'map(.size) | add'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ls(cmd.Context(), long, sort) },
	}
	cmd.Flags().BoolVarP(&long, "long", "l", false, "show device, times and place as well")
	cmd.Flags().StringVar(&sort, "sort", "", "order: size, age, cost (largest and oldest first) or name")
	return cmd
}

// entryReport is an entry as --json writes it.
type entryReport struct {
	Key      string    `json:"key"`
	Kernels  []string  `json:"kernels"`
	Device   string    `json:"device"`
	Size     int64     `json:"size"`
	CostMS   float64   `json:"cost_ms"`
	Created  time.Time `json:"created"`
	Accessed time.Time `json:"accessed"`
	Location string    `json:"location"`
	Bad      string    `json:"bad,omitempty"`
}

func reportEntry(info store.Info) entryReport {
	r := entryReport{
		Kernels: info.Kernels, Device: deviceName(info), Size: info.Size, CostMS: millis(info.Cost),
		Created: info.Created, Accessed: info.Accessed, Location: info.Location,
	}
	if !info.Key.IsZero() {
		r.Key = info.Key.String()
	}
	if info.Bad != nil {
		r.Bad = info.Bad.Error()
	}
	return r
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func deviceName(info store.Info) string {
	if info.Device.Name == "" {
		return ""
	}
	return info.Device.String()
}

// sortings are the orders of ls, what matters most first.
var sortings = map[string]func(a, b store.Info) int{
	"size": func(a, b store.Info) int { return cmp.Compare(b.Size, a.Size) },
	"age":  func(a, b store.Info) int { return a.Accessed.Compare(b.Accessed) },
	"cost": func(a, b store.Info) int { return cmp.Compare(b.Cost, a.Cost) },
	"name": func(a, b store.Info) int { return strings.Compare(entryName(a), entryName(b)) },
}

// entryName is what people know a program by: its kernels.
func entryName(info store.Info) string {
	const most = 3
	names := info.Kernels
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	if len(names) == 0 {
		return "–"
	}
	return printable(strings.Join(names, ", "), false) + more
}

func (a *app) ls(ctx context.Context, long bool, sort string) (err error) {
	order, known := sortings[sort]
	if sort != "" && !known {
		return usagef("--sort %s: want size, age, cost or name", sort)
	}
	d, _, err := a.openDisk()
	if err != nil {
		return err
	}
	defer closeDisk(d, &err)

	w := entryWriter{a: a, long: long, now: time.Now()}
	if order == nil {
		for info, err := range d.List(ctx) {
			if err != nil {
				return err
			}
			if err := w.write(info); err != nil {
				return err
			}
		}
		return w.end()
	}
	var all []store.Info
	for info, err := range d.List(ctx) {
		if err != nil {
			return err
		}
		all = append(all, info)
	}
	slices.SortStableFunc(all, func(x, y store.Info) int {
		return cmp.Or(order(x, y), strings.Compare(x.Location, y.Location))
	})
	for _, info := range all {
		if err := w.write(info); err != nil {
			return err
		}
	}
	return w.end()
}

// entryWriter writes entries one by one: as lines of fixed columns, since
// their widths cannot be known in advance, or as JSON.
type entryWriter struct {
	a    *app
	long bool
	now  time.Time
	n    int
	size int64
}

func (w *entryWriter) write(info store.Info) error {
	w.n++
	w.size += info.Size
	if w.a.json {
		if err := w.a.encodeJSON(reportEntry(info), ""); err != nil {
			return err
		}
		return w.soon()
	}
	if w.n == 1 {
		w.a.printf("%-12s  %9s  %9s  %-14s  %s\n", "KEY", "SIZE", "COST", "USED", "KERNELS")
	}
	short, cost := info.Key.Short(), humanTime(info.Cost)
	if info.Key.IsZero() {
		short, cost = "–", "–"
	}
	w.a.printf("%-12s  %9s  %9s  %-14s  %s\n", short, humanSize(info.Size), cost,
		humanAge(info.Accessed, w.now), entryName(info))
	if info.Bad != nil {
		w.a.printf("              cannot hit: %s\n", printable(info.Bad.Error(), false))
	}
	if w.long {
		if name := deviceName(info); name != "" {
			w.a.printf("              device   %s\n", printable(name, false))
		}
		if !info.Created.IsZero() {
			w.a.printf("              created  %s\n", info.Created.Local().Format(time.DateTime))
		}
		w.a.printf("              used     %s\n", info.Accessed.Local().Format(time.DateTime))
		w.a.printf("              place    %s\n", info.Location)
	}
	return w.soon()
}

// soon lets the first entries be seen at once, and the others in larger parts.
func (w *entryWriter) soon() error {
	if w.n <= 20 || w.n%256 == 0 {
		return w.a.flush()
	}
	return nil
}

func (w *entryWriter) end() error {
	if w.a.json {
		return nil
	}
	if w.n == 0 {
		w.a.printf("the cache is empty\n")
		return nil
	}
	w.a.printf("%s, %s\n", plural(w.n, "entry"), humanSize(w.size))
	return nil
}
