// Package entries shows what a cache holds, and cleans it: ls, show, stat, verify, gc and clear.
package entries

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/catalog"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// EntryReport is an entry as --json writes it.
type EntryReport struct {
	Key      string    `json:"key"`
	Kernels  []string  `json:"kernels"`
	Device   string    `json:"device"`
	Size     int64     `json:"size"`
	CostMS   float64   `json:"cost_ms"`
	Created  time.Time `json:"created"`
	Accessed time.Time `json:"accessed"`
	Location string    `json:"location"`
	Bad      string    `json:"bad,omitempty"`
	Pinned   bool      `json:"pinned,omitempty"`

	// From the records, as far as they go back.
	Hits    int64       `json:"hits,omitempty"` // of all applications
	SavedMS float64     `json:"saved_ms,omitempty"`
	Apps    []AppReport `json:"apps,omitempty"` // who saved most first
}

// AppReport is what an application did with an entry.
type AppReport struct {
	App     string    `json:"app"`
	Hits    int64     `json:"hits"`
	SavedMS float64   `json:"saved_ms"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// Apps returns what applications did with an entry, who saved most first.
func Apps(e *ledger.Entry) (all []AppReport) {
	for app, u := range e.Apps {
		all = append(all, AppReport{app, u.Hits, human.Millis(u.SavedTime()), time.Unix(u.First, 0).UTC(), time.Unix(u.Last, 0).UTC()})
	}
	slices.SortFunc(all, func(a, b AppReport) int { return cmp.Or(cmp.Compare(b.SavedMS, a.SavedMS), cmp.Compare(a.App, b.App)) })
	return all
}

// ReportEntry returns what --json writes of an entry, but for what was recorded.
func ReportEntry(info store.Info) EntryReport {
	r := EntryReport{
		Kernels: append([]string{}, info.Kernels...), // of none, too: null is no list in JSON
		Device:  DeviceName(info), Size: info.Size, CostMS: human.Millis(info.Cost),
		Created: info.Created.UTC(), Accessed: info.Accessed.UTC(), Location: info.Location,
	}
	if !info.Key.IsZero() {
		r.Key = info.Key.String()
	}
	if info.Bad != nil {
		r.Bad = info.Bad.Error()
	}
	return r
}

// DeviceName is what people know the device of an entry by.
func DeviceName(info store.Info) string {
	if info.Device.Name == "" {
		return ""
	}
	return DeviceText(info.Device)
}

// DeviceText is what people know a device by; compilers that need none are their own.
func DeviceText(d key.Device) string {
	if rtc.IsAPI(d.API) {
		return d.Platform + " " + d.Version
	}
	return d.String()
}

// sortings are the orders of ls, what matters most first: what decides, as a number or a text.
var sortings = map[string]func(info store.Info) (int64, string){
	"size": func(info store.Info) (int64, string) { return -info.Size, "" },
	"used": func(info store.Info) (int64, string) { return -info.Accessed.UnixNano(), "" },
	"age":  func(info store.Info) (int64, string) { return info.Accessed.UnixNano(), "" },
	"cost": func(info store.Info) (int64, string) { return -int64(info.Cost), "" },
	"name": func(info store.Info) (int64, string) { return 0, Name(info) },
}

// Orders are the names that --sort takes.
var Orders = []string{"saved", "hits", "used", "cost", "size", "age", "name"}

// CheckOrder refuses what is no order of ls.
func CheckOrder(sort string) error {
	if !slices.Contains(Orders, sort) && sort != "" {
		return cli.Usagef("--sort %s: want %s or %s", sort, strings.Join(Orders[:len(Orders)-1], ", "), Orders[len(Orders)-1])
	}
	return nil
}

// Name is what people know a program by: its kernels.
func Name(info store.Info) string { return kernelNames(info.Kernels, 0) }

// kernelNames names the first kernels, and says how many others there are: more than those that are given.
func kernelNames(kernels []string, more int) string {
	if len(kernels) == 0 {
		return "–"
	}
	return human.Printable(human.Names(KernelNames(kernels), more), false)
}

// List lists the entries.
func List(ctx context.Context, c cli.Cache, o ListOptions) error {
	if o.Tree {
		o.Sort = unordered // it has an order of its own
	}
	w, err := newWriter(ctx, c, o, o.Long || o.Tree || c.JSON || o.Sort == "" || o.Sort == string(ledger.Used) || o.recorded())
	if err != nil {
		return err
	}
	defer w.closeBook()
	if o.Tree {
		return w.tree(ctx)
	}
	if order := w.order(); order != nil {
		return w.sorted(ctx, order)
	}
	for info, err := range w.entries(ctx) {
		row, err := w.row(info, err)
		if err == nil {
			err = w.write(row)
		}
		if err != nil {
			return err
		}
	}
	return w.end(ctx)
}

// sorted lists entries in an order. Nothing can be shown before all were found.
func (w *entryWriter) sorted(ctx context.Context, order func(store.Info) (int64, string)) error {
	// A million keys are most of the memory: no garbage of the same size beside them.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	expected := w.Disk.Status().Entries
	rows := sortedRows{keys: make([]rowKey, 0, max(0, min(expected, 1<<20)))}
	defer rows.close()
	p := w.Progress()
	defer p.Done()
	progress := p.Counting("listed", expected)
	for info, err := range w.entries(ctx) {
		row, err := w.row(info, err)
		if err == nil {
			number, text := order(info)
			err = rows.add(number, text, info.Location, row)
		}
		if err != nil {
			return err
		}
		progress(int64(len(rows.keys)))
	}
	p.Done()
	if err := rows.each(w.write); err != nil {
		return err
	}
	return w.end(ctx)
}

// entryWriter writes entries one by one: as lines of fixed columns, since
// their widths cannot be known in advance, or as JSON.
type entryWriter struct {
	cli.Cache
	o       ListOptions
	wanted  *matcher
	book    *ledger.Ledger    // nil: it cannot be read
	catalog *catalog.Catalog  // nil: all entries are read
	pins    map[string]string // where they are shown
	absent  []records.Place
	now     time.Time
	width   int  // 0: any
	cut     bool // longer lines are cut, else they are wrapped
	buf     bytes.Buffer
	size    int64
	written int

	byRecords bool // the order is theirs
}

// newWriter opens the records if they are asked for.
func newWriter(ctx context.Context, c cli.Cache, o ListOptions, records bool) (*entryWriter, error) {
	w := &entryWriter{
		Cache: c, o: o, now: time.Now(), width: c.Terminal().Lines, cut: !o.Long && terminal.IsTerminal(c.Stream),
	}
	if o.Long || c.JSON {
		var err error
		if w.pins, err = c.Disk.Pins(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.openCatalog(ctx); err != nil { // which has the records to itself for a moment
		return nil, err
	}
	if records {
		if err := w.openBook(ctx); err != nil {
			return nil, err
		}
	}
	w.wanted = o.matcher(w.book, w.now)
	return w, nil
}

// row makes the row of an entry, unless listing failed. It is valid until the next one is made.
func (w *entryWriter) row(info store.Info, failed error) ([]byte, error) {
	if failed != nil {
		return nil, failed
	}
	w.size += info.Size
	w.buf.Reset()
	if w.JSON {
		err := terminal.EncodeJSON(&w.buf, w.report(info), "")
		return w.buf.Bytes(), err
	}
	short, cost := info.Key.Short(), human.Time(info.Cost)
	if info.Key.IsZero() {
		short, cost = "–", "–"
	}
	const indent = 14 // below the size
	line := func(head, text string, indent int) {
		w.buf.WriteString(human.WrapBehind(head, text, indent, w.width))
	}
	blank := strings.Repeat(" ", indent)
	e := w.of(info)
	head := ""
	if hits, saved := w.wanted.use(e); w.byRecords {
		head = fmt.Sprintf("%-12s  %9s  %9s  %9s  %6d  ", short, human.Size(info.Size), cost, timeText(saved), hits)
	} else {
		head = fmt.Sprintf("%-12s  %9s  %9s  %-14s  ", short, human.Size(info.Size), cost, human.Age(info.Accessed, w.now))
	}
	if w.cut {
		w.buf.WriteString(w.fit(head+Name(info)) + "\n")
	} else if name := Name(info); w.width == 0 || utf8.RuneCountInString(head+name) <= w.width {
		w.buf.WriteString(head + name + "\n")
	} else {
		w.buf.WriteString(strings.TrimRight(head, " ") + "\n")
		line(blank+"kernels  ", name, indent+9)
	}
	if info.Bad != nil {
		line(blank, "cannot hit: "+human.Printable(info.Bad.Error(), false), indent)
	}
	if w.o.Long {
		if IsPinned(w.pins, info) {
			line(blank+"pinned", "", indent)
		}
		if name := DeviceName(info); name != "" {
			line(blank+"device   ", human.Printable(name, false), indent+9)
		}
		if !info.Created.IsZero() {
			line(blank+"created  ", info.Created.Local().Format(time.DateTime), indent+9)
		}
		line(blank+"used     ", info.Accessed.Local().Format(time.DateTime), indent+9)
		if e != nil {
			for _, a := range Apps(e) {
				line(blank+"app      ", fmt.Sprintf("%s, %s, %s saved", human.Printable(a.App, false), human.Plural(a.Hits, "hit"),
					timeMS(a.SavedMS)), indent+9)
			}
		}
		place := info.Location
		if w.width > 0 {
			place = foldPath(place, w.width-indent-9)
		}
		line(blank+"place    ", place, indent+9)
	}
	return w.buf.Bytes(), nil
}

// report returns an entry as --json writes it, with what the records know of it.
func (w *entryWriter) report(info store.Info) EntryReport {
	r := ReportEntry(info)
	r.Pinned = IsPinned(w.pins, info)
	if e := w.of(info); e != nil {
		u := e.Total()
		r.Hits, r.SavedMS, r.Apps = u.Hits, human.Millis(u.SavedTime()), Apps(e)
	}
	return r
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

// write writes a row. The first ones can be seen at once, the others in larger parts.
func (w *entryWriter) write(row []byte) error {
	w.written++
	if w.written == 1 && !w.JSON {
		if w.byRecords {
			w.Printf("%-12s  %9s  %9s  %9s  %6s  %s\n", "KEY", "SIZE", "COST", "SAVED", "HITS", "KERNELS")
		} else {
			w.Printf("%-12s  %9s  %9s  %-14s  %s\n", "KEY", "SIZE", "COST", "USED", "KERNELS")
		}
	}
	if _, err := w.Out.Write(row); err != nil {
		return err
	}
	if w.written <= 20 || w.written%256 == 0 {
		return w.Flush()
	}
	return nil
}

// fit cuts what is too long for the line of a terminal.
func (w *entryWriter) fit(line string) string {
	if w.cut {
		return human.Clip(line, w.width)
	}
	return line
}

func (w *entryWriter) line(text string) { w.Printf("%s\n", w.fit(text)) }

// timeText is a time in a table, which may be none.
func timeText(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return human.Time(d)
}

func timeMS(ms float64) string { return timeText(time.Duration(ms * float64(time.Millisecond))) }

// each calls f with every entry that is asked for, and says on the way how many there are.
func (w *entryWriter) each(ctx context.Context, f func(store.Info)) error {
	p := w.Progress()
	defer p.Done()
	progress := p.Counting("listed", w.Disk.Status().Entries)
	for info, err := range w.entries(ctx) {
		if err != nil {
			return err
		}
		w.size += info.Size
		w.written++
		f(info)
		progress(int64(w.written))
	}
	return nil
}

// summary writes what was listed in all.
func (w *entryWriter) summary(ctx context.Context) {
	switch {
	case w.JSON:
	case w.written == 0:
		w.Printf("%s\n", w.nothing(ctx))
	default:
		w.Printf("%s, %s\n", human.Plural(w.written, "entry"), human.Size(w.size))
	}
}

func (w *entryWriter) end(ctx context.Context) error {
	w.summary(ctx)
	if !w.o.All() {
		return nil
	}
	return w.listFrameworks(ctx)
}

// Label names a program as Name does, by what a record or an event calls it: its kernels, or the size of its device image.
func Label(label string) string {
	kernels, more, size := human.ReadLabel(label)
	if size > 0 {
		return human.Plural(size, "byte")
	}
	name := kernelNames(kernels, more)
	if strings.HasSuffix(label, "…") && !strings.HasSuffix(name, "…") { // an earlier version has cut it
		return strings.Replace(name, " and ", " and at least ", 1)
	}
	return name
}

// LabelReport is what a label says of a program, as --json writes it.
type LabelReport struct {
	Kernels     []string `json:"kernels"`
	KernelsMore int      `json:"kernels_more,omitempty"` // that are not in the list
	ImageSize   int64    `json:"image_size,omitempty"`   // of the device image, where no kernel is known
}

// ReportLabel returns what --json writes of a label.
func ReportLabel(label string) LabelReport {
	kernels, more, size := human.ReadLabel(label)
	return LabelReport{append([]string{}, kernels...), more, size} // of none, too: null is no list in JSON
}

// KernelNames returns names of kernels as KernelName does.
func KernelNames(kernels []string) []string {
	names := make([]string, len(kernels))
	for i, name := range kernels {
		names[i] = KernelName(name)
	}
	return names
}

// KernelName returns the name of a kernel as its source has it, "scale<float>", without
// its parameters, if name is one that C++ compilers made of such; else name.
func KernelName(name string) string {
	const maxName, maxText = 4096, 12 // bytes, and 2^12 bytes: substitutions double a text again and again
	if !strings.HasPrefix(name, "_Z") || len(name) > maxName {
		return name
	}
	return demangle.Filter(name, demangle.NoParams, demangle.NoRust, demangle.LLVMStyle, demangle.MaxLength(maxText))
}
