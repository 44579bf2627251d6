package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/why"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

const (
	pageRows = 50 // of a table
	mapCells = 60 // of a treemap
	shown    = 90 // days
)

// templates are parsed when they are first asked for: other commands do without.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"size": human.Size, "time": took, "plural": human.Plural[int64], "rate": human.Rate,
		"age":    func(t time.Time) string { return human.Age(t, time.Now()) },
		"utc":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"name":   programName,
		"label":  entries.Label,
		"text":   func(s string) string { return human.Printable(s, false) },
		"add":    func(a, b int) int { return a + b },
		"link":   entryLink,
		"place":  func(info store.Info) string { return entryLink(records.PlaceOf(info.Key)) },
		"millis": func(ms float64) string { return took(time.Duration(ms * float64(time.Millisecond))) },
		"list":   func(all ...any) []any { return all },
	}).ParseFS(files, "pages.html"))
})

// page is what a template is given.
type page struct {
	Title, Name string // Name is that of the template
	Dir         string
	HasRun      bool
	Style       template.CSS // of a file that stands alone; "": it is linked
	Policy      string       // of such a file
	Seen        *space       // nil: what is shown is no part of it
	Expected    int64        // entries
	Data        any
}

func took(d time.Duration) string {
	if d == 0 {
		return "0 s"
	}
	return human.Time(d)
}

// programName is what a page calls an entry: its kernels, or where none is known the beginning of its key.
func programName(info store.Info) string {
	if len(info.Kernels) == 0 {
		return "Entry " + info.Key.Short()
	}
	return entries.Name(info)
}

// statusError is an error with the status that answers it.
type statusError struct {
	status int
	error
}

func notFound(format string, args ...any) error {
	return &statusError{http.StatusNotFound, fmt.Errorf(format, args...)}
}

func (s *server) answer(w http.ResponseWriter, r *http.Request, of func(*http.Request) (*page, error)) {
	p, err := of(r)
	status := http.StatusOK
	if err != nil {
		status = http.StatusInternalServerError
		if e, is := errors.AsType[*statusError](err); is {
			status = e.status
		}
		p = &page{Title: "Error", Name: "error", Data: human.Printable(err.Error(), false)}
	}
	p.HasRun = s.run != nil
	b, err := s.data.render(p)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

func (d *data) render(p *page) ([]byte, error) {
	p.Dir = human.Printable(d.c.Disk.Dir(), false)
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, p.Name, p)
	return b.Bytes(), err
}

// seen says how many entries were looked at, for a page that waits for more.
func (s *server) seen(w http.ResponseWriter, _ *http.Request) {
	seen := s.data.seen()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"entries\": %d, \"done\": %v}\n", seen.Entries, seen.Done)
}

// overview is the first page.
type overview struct {
	Status             disk.Status
	Today, Week, Saved time.Duration
	Hits, Asked        int64 // of requests that memory did not answer
	Builds             int64
	BuildTime          time.Duration
	Bars               []box
	Most               time.Duration
	Days               []day // those with records, the last one first
	Shown              int
	Apps               []ledger.Application
	Misses             []why.Miss
	Trouble            []string
}

func (s *server) overview(*http.Request) (*page, error) {
	return s.data.overview(s.data.seen())
}

func (d *data) overview(seen *space) (*page, error) {
	st := d.c.Disk.Status()
	counts, err := d.c.Disk.Stats()
	if st.On && err != nil {
		return nil, err
	}
	book := d.recorded()
	days := lastDays(book.days, time.Now(), shown)
	o := overview{
		Status: st, Today: days[shown-1].Saved, Saved: counts.Duration(stats.SavedTime), Hits: counts[stats.DiskHits], Asked: counts[stats.DiskHits] + counts[stats.DiskMisses],
		Builds: counts[stats.Builds], BuildTime: counts.Duration(stats.BuildTime), Shown: shown,
		Apps: book.apps[:min(len(book.apps), 10)], Misses: book.misses[:min(len(book.misses), 5)],
	}
	for _, of := range days[shown-7:] {
		o.Week += of.Saved
	}
	o.Bars, o.Most = bars(days)
	for _, of := range slices.Backward(days) {
		if of.Hits+of.Misses > 0 {
			o.Days = append(o.Days, of)
		}
	}
	for _, err := range []error{book.err, seen.err} {
		if err != nil {
			o.Trouble = append(o.Trouble, human.Printable(err.Error(), false))
		}
	}
	if st.Reason != "" {
		o.Trouble = append(o.Trouble, human.Printable(st.Reason, false))
	}
	return &page{Title: "Overview", Name: "overview", Data: o, Seen: seen, Expected: st.Entries}, nil
}

// rows is a part of a table.
type rows[T any] struct {
	All        []T
	From, Of   int
	Prev, Next string // links, "": none
}

// part returns the rows that a request asks for.
func part[T any](r *http.Request, all []T) rows[T] {
	q := r.URL.Query()
	at, _ := strconv.Atoi(q.Get("page"))
	at = max(0, min(at, (len(all)-1)/pageRows))
	from, to := at*pageRows, min((at+1)*pageRows, len(all))
	link := func(n int) string {
		q.Set("page", strconv.Itoa(n))
		return "?" + q.Encode()
	}
	p := rows[T]{All: all[from:to], From: from, Of: len(all)}
	if at > 0 {
		p.Prev = link(at - 1)
	}
	if to < len(all) {
		p.Next = link(at + 1)
	}
	return p
}

// To is the number of the last row.
func (r rows[T]) To() int { return r.From + len(r.All) }

// cell is what a part of the space is for.
type cell struct {
	Name, Link     string
	Entries, Bytes int64
}

// spacePage shows space by application, device or program.
type spacePage struct {
	By     string
	Ways   []cell // links to the same by something else
	Chosen []cell // what is shown is of, with links to be without it
	Boxes  []box
	Rows   rows[cell]
	Total  cell
	Found  []store.Info // entries of one program
}

// groups are what space is shown by, from the outside in.
var groups = []struct {
	name string
	of   func(*program) string
}{
	{"app", func(p *program) string { return p.app }},
	{"device", func(p *program) string { return p.device }},
	{"program", func(p *program) string { return p.name }},
}

func (s *server) space(r *http.Request) (*page, error) {
	q := r.URL.Query()
	seen := s.data.seen()
	data := spacePage{By: q.Get("by")}
	var free []string // what is not chosen
	for _, g := range groups {
		if q.Has(g.name) {
			data.Chosen = append(data.Chosen, cell{Name: g.name + " " + human.Printable(q.Get(g.name), false), Link: spaceLink(q, "", g.name)})
		} else {
			free = append(free, g.name)
		}
	}
	if !slices.Contains(free, data.By) {
		data.By = ""
		if len(free) > 0 {
			data.By = free[0]
		}
	}
	for _, name := range free {
		data.Ways = append(data.Ways, cell{Name: name, Link: spaceLink(q, name, "")})
	}
	sums := make(map[string]*cell)
	var places []records.Place
	for _, p := range seen.programs {
		name, matches := "", true
		for _, g := range groups {
			of := g.of(p)
			matches = matches && (!q.Has(g.name) || q.Get(g.name) == of)
			if g.name == data.By {
				name = of
			}
		}
		if !matches {
			continue
		}
		data.Total.Entries += p.entries
		data.Total.Bytes += p.bytes
		if data.By == "" {
			places = append(places, p.places...)
			continue
		}
		c := sums[name]
		if c == nil {
			c = &cell{Name: name}
			sums[name] = c
		}
		c.Entries += p.entries
		c.Bytes += p.bytes
	}
	all := make([]cell, 0, len(sums))
	for _, c := range sums {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b cell) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	data.Rows = part(r, all)
	for _, shown := range [][]cell{all[:min(len(all), mapCells)], data.Rows.All} {
		for i := range shown {
			with := maps.Clone(q)
			with.Set(data.By, shown[i].Name)
			shown[i].Link = spaceLink(with, "", "")
		}
	}
	data.Boxes = cells(all)
	for info, err := range s.data.c.Disk.ListAt(r.Context(), slices.Values(places[:min(len(places), maxPlaces)])) {
		if err != nil {
			return nil, err
		}
		if !info.Key.IsZero() {
			data.Found = append(data.Found, info)
		}
	}
	return &page{Title: "Space", Name: "space", Data: data, Seen: seen, Expected: s.data.c.Disk.Status().Entries}, nil
}

// spaceLink returns the link to the page of space with what is chosen, by something, and without something.
func spaceLink(chosen url.Values, by, without string) string {
	q := make(url.Values)
	for _, g := range groups {
		if chosen.Has(g.name) && g.name != without {
			q.Set(g.name, chosen.Get(g.name))
		}
	}
	if by != "" {
		q.Set("by", by)
	}
	return "/space?" + q.Encode()
}

// cells draws parts of the space, the largest first; small ones together.
func cells(all []cell) []box {
	var sizes []int64
	var named []cell
	for _, c := range all[:min(len(all), mapCells)] {
		if c.Bytes > 0 {
			sizes, named = append(sizes, c.Bytes), append(named, c)
		}
	}
	rest := cell{}
	for _, c := range all[min(len(all), mapCells):] {
		rest.Bytes += c.Bytes
		rest.Entries += c.Entries
	}
	if rest.Bytes > 0 {
		rest.Name = human.Plural(len(all)-mapCells, "other")
		at, _ := slices.BinarySearchFunc(sizes, rest.Bytes, func(a, b int64) int { return cmp.Compare(b, a) })
		sizes, named = slices.Insert(sizes, at, rest.Bytes), slices.Insert(named, at, rest)
	}
	boxes := treemap(sizes)
	for i, c := range named {
		boxes[i].Label, boxes[i].Link = c.Name, c.Link
		boxes[i].Title = fmt.Sprintf("%s: %s in %s", c.Name, human.Size(c.Bytes), human.Plural(c.Entries, "entry"))
	}
	return boxes
}

// entryLink returns the link to the page of an entry.
func entryLink(p records.Place) string { return "/entry/" + hex.EncodeToString(p[:]) }

// entryPage shows one entry.
type entryPage struct {
	Name string
	entries.Described
	Apps []entries.AppReport
}

func (s *server) entry(r *http.Request) (*page, error) {
	var at records.Place
	if b, err := hex.DecodeString(r.PathValue("place")); err != nil || copy(at[:], b) != len(at) || len(b) != len(at) {
		return nil, notFound("no entry has such an address")
	}
	for info, err := range s.data.c.Disk.ListAt(r.Context(), slices.Values([]records.Place{at})) {
		if err != nil {
			return nil, err
		}
		if info.Key.IsZero() {
			continue
		}
		described, err := entries.Describe(r.Context(), s.data.c.Disk, info)
		if err != nil {
			return nil, err
		}
		data := entryPage{Name: programName(info), Described: described}
		err = s.data.withLedger(false, func(l *ledger.Ledger) error {
			e, err := l.Of(at)
			if e != nil {
				data.Apps = entries.Apps(e)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return &page{Title: data.Name, Name: "entry", Data: data}, nil
	}
	return nil, notFound("the entry is not in the cache any more")
}

// missesPage shows why programs were compiled.
type missesPage struct {
	App  string // whose; "": anybody's
	Rows rows[why.Miss]
	Err  string
}

func (s *server) misses(r *http.Request) (*page, error) {
	book := s.data.recorded()
	all, app := book.misses, r.URL.Query().Get("app")
	if app != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(m why.Miss) bool { return m.App != app })
	}
	data := missesPage{App: human.Printable(app, false), Rows: part(r, all)}
	if book.err != nil {
		data.Err = human.Printable(book.err.Error(), false)
	}
	return &page{Title: "Misses", Name: "misses", Data: data}, nil
}

// nextPage shows what goes first.
type nextPage struct {
	Status disk.Status
	Rows   rows[candidate]
	Most   int
}

func (s *server) next(r *http.Request) (*page, error) {
	seen := s.data.seen()
	st := s.data.c.Disk.Status()
	return &page{Title: "Evicted next", Name: "next", Data: nextPage{st, part(r, seen.next), maxNext}, Seen: seen, Expected: st.Entries}, nil
}

// runPage shows when what was in a run.
type runPage struct {
	*timeline.Where
	Command  string
	Tracks   []track
	NotDrawn int
}

func (s *server) timeline(*http.Request) (*page, error) {
	if s.run == nil {
		return nil, notFound("no run is shown: kernstash serve --report FILE")
	}
	data := runPage{Where: s.run.Where(), Command: human.Printable(strings.Join(s.run.Command, " "), false)}
	data.Tracks, data.NotDrawn = tracks(s.run)
	return &page{Title: "A run", Name: "run", Data: data}, nil
}

// WriteFile writes the overview as one file, which needs no other.
func WriteFile(ctx context.Context, c cli.Cache, path string) error {
	if st := c.Disk.Status(); !st.On {
		return errors.New(st.Reason)
	}
	d := newData(ctx, c)
	seen := d.walk(func(*space) {})
	if err := cmp.Or(seen.err, ctx.Err()); err != nil {
		return err
	}
	p, err := d.overview(seen)
	if err != nil {
		return err
	}
	style, err := files.ReadFile("style.css")
	if err != nil {
		return err
	}
	digest := sha256.Sum256(style)
	p.Style = template.CSS(style)
	p.Policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
	b, err := d.render(p)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		return err
	}
	report := struct {
		File  string `json:"file"`
		Bytes int    `json:"bytes"`
	}{path, len(b)}
	return c.Report(report, true, func() { c.Printf("wrote %s\n", human.Printable(path, false)) })
}
