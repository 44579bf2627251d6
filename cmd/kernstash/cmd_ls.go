package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

func (a *app) lsCommand() *cobra.Command {
	var long bool
	var sort string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List what is in the cache",
		Long: `List the entries of the cache. Unsorted, each is shown as soon as it is found,
so a cache of any size begins to appear at once. SIZE is how long the files of an
entry are; what they take of the limit, in blocks and directories, 'kernstash
stat' says of all together.

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
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions([]string{"size", "age", "cost", "name"}, cobra.ShellCompDirectiveNoFileComp))
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
		Created: info.Created.UTC(), Accessed: info.Accessed.UTC(), Location: info.Location,
	}
	if r.Kernels == nil {
		r.Kernels = []string{}
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
	return deviceText(info.Device)
}

// deviceText is what people know a device by; compilers that need none are their own.
func deviceText(d key.Device) string {
	if isRTC(d) {
		return d.Platform + " " + d.Version
	}
	return d.String()
}

// sortings are the orders of ls, what matters most first: what decides, as a
// number or a text.
var sortings = map[string]func(info store.Info) (int64, string){
	"size": func(info store.Info) (int64, string) { return -info.Size, "" },
	"age":  func(info store.Info) (int64, string) { return info.Accessed.UnixNano(), "" },
	"cost": func(info store.Info) (int64, string) { return -int64(info.Cost), "" },
	"name": func(info store.Info) (int64, string) { return 0, entryName(info) },
}

// entryName is what people know a program by: its kernels.
func entryName(info store.Info) string {
	if len(info.Kernels) == 0 {
		return "–"
	}
	names := make([]string, len(info.Kernels))
	for i, name := range info.Kernels {
		names[i] = kernelName(name)
	}
	return printable(human.Names(names), false)
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

	w := entryWriter{a: a, long: long, now: time.Now(), width: a.terminal().lines}
	if order != nil {
		return a.lsSorted(ctx, d, &w, order)
	}
	for info, err := range d.List(ctx) {
		if err != nil {
			return err
		}
		row, err := w.row(info)
		if err == nil {
			err = w.write(row)
		}
		if err != nil {
			return err
		}
	}
	return w.end()
}

// lsSorted lists entries in an order. Nothing can be shown before all were found.
func (a *app) lsSorted(ctx context.Context, d *disk.Store, w *entryWriter, order func(store.Info) (int64, string)) error {
	// A million keys are most of the memory: no garbage of the same size beside them.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var rows sortedRows
	defer rows.close()
	p := a.newProgress()
	expected := d.Status().Entries
	rows.keys = make([]rowKey, 0, max(0, min(expected, 1<<20)))
	progress := p.counting("listed", expected)
	defer p.done()
	found := int64(0)
	for info, err := range d.List(ctx) {
		if err != nil {
			return err
		}
		row, err := w.row(info)
		if err == nil {
			number, text := order(info)
			err = rows.add(number, text, info.Location, row)
		}
		if err != nil {
			return err
		}
		found++
		progress(found)
	}
	p.done()
	if err := rows.each(w.write); err != nil {
		return err
	}
	return w.end()
}

// entryWriter writes entries one by one: as lines of fixed columns, since
// their widths cannot be known in advance, or as JSON.
type entryWriter struct {
	a       *app
	long    bool
	now     time.Time
	width   int // 0: any
	buf     bytes.Buffer
	n       int // rows that were made
	size    int64
	written int
}

// row makes the row of an entry. It is valid until the next one is made.
func (w *entryWriter) row(info store.Info) ([]byte, error) {
	w.n++
	w.size += info.Size
	w.buf.Reset()
	if w.a.json {
		err := encodeJSON(&w.buf, reportEntry(info), "")
		return w.buf.Bytes(), err
	}
	printf := func(format string, args ...any) { fmt.Fprintf(&w.buf, format, args...) }
	short, cost := info.Key.Short(), humanTime(info.Cost)
	if info.Key.IsZero() {
		short, cost = "–", "–"
	}
	const indent = 14 // below the size
	line := func(head, text string, indent int) {
		if w.width == 0 {
			printf("%s%s\n", head, text)
			return
		}
		w.buf.WriteString(wrapBehind(head, text, indent, w.width))
	}
	blank := strings.Repeat(" ", indent)
	head := fmt.Sprintf("%-12s  %9s  %9s  %-14s  ", short, humanSize(info.Size), cost, humanAge(info.Accessed, w.now))
	line(head, entryName(info), utf8.RuneCountInString(head))
	if info.Bad != nil {
		line(blank, "cannot hit: "+printable(info.Bad.Error(), false), indent)
	}
	if w.long {
		if name := deviceName(info); name != "" {
			line(blank+"device   ", printable(name, false), indent+9)
		}
		if !info.Created.IsZero() {
			line(blank+"created  ", info.Created.Local().Format(time.DateTime), indent+9)
		}
		line(blank+"used     ", info.Accessed.Local().Format(time.DateTime), indent+9)
		place := info.Location
		if w.width > 0 {
			place = foldPath(place, w.width-indent-9)
		}
		line(blank+"place    ", place, indent+9)
	}
	return w.buf.Bytes(), nil
}

// foldPath puts a space behind some slashes, where a path may be wrapped.
func foldPath(path string, width int) string {
	var b strings.Builder
	used := 0
	for part := range strings.SplitAfterSeq(path, "/") {
		n := utf8.RuneCountInString(part)
		if used > 0 && used+n > width {
			b.WriteByte(' ')
			used = 0
		}
		b.WriteString(part)
		used += n
	}
	return b.String()
}

// write writes a row. The first ones can be seen at once, the others in larger
// parts.
func (w *entryWriter) write(row []byte) error {
	w.written++
	if w.written == 1 && !w.a.json {
		w.a.printf("%-12s  %9s  %9s  %-14s  %s\n", "KEY", "SIZE", "COST", "USED", "KERNELS")
	}
	if _, err := w.a.out.Write(row); err != nil {
		return err
	}
	if w.written <= 20 || w.written%256 == 0 {
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
