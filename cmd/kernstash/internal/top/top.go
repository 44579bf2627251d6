// Package top shows the scoreboard of a cache as it changes, and what is being built.
package top

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/jobs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/scoreboard"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/worker"
)

// Build is a build that is under way.
type Build struct {
	App string `json:"app,omitempty"` // "": of a process that this user may not look at
	PID int    `json:"pid,omitempty"`
	at  int64  // of its lock
}

// frame is what is shown at a moment, and what `top --json` writes.
type frame struct {
	*scoreboard.Board
	Building []Build      `json:"building"`
	Worker   workerReport `json:"worker"`

	at    time.Time
	since map[int64]time.Time // when builds were first seen
	then  sample              // what was counted a while ago
	err   error
}

// workerReport is what the worker does.
type workerReport struct {
	Running  bool     `json:"running"`
	Building string   `json:"building,omitempty"` // the job
	Kernels  []string `json:"kernels,omitempty"`  // of it
	Waiting  int      `json:"waiting"`            // jobs
}

// sample is what was counted until a time.
type sample struct {
	at     time.Time
	counts stats.Snapshot
}

func look(ctx context.Context, c cli.Cache, now time.Time) (*frame, error) {
	b, err := scoreboard.Look(ctx, c, now)
	if err != nil {
		return nil, err
	}
	st, err := worker.Ask(ctx, c.Disk)
	if err != nil {
		return nil, err
	}
	path, from, below := c.Disk.BuildLocks()
	all := append([]Build{}, building(path, from, below)...)
	slices.SortFunc(all, func(a, b Build) int { return cmp.Or(cmp.Compare(a.App, b.App), a.PID-b.PID, cmp.Compare(a.at, b.at)) })
	return &frame{Board: b, Building: all, Worker: workerReport{st.Running, st.Building, jobs.Kernels(ctx, c.Disk, st.Building), st.Waiting}, at: now}, nil
}

// Options are those of top.
type Options struct {
	Once  bool
	Every time.Duration
}

// Show shows the cache until the user has seen enough; once where nobody is there to watch.
func Show(ctx context.Context, c cli.Cache, o Options) error {
	if !o.Once && !c.JSON && terminal.IsTerminal(c.Stream) {
		return watch(ctx, c, o.Every)
	}
	f, err := look(ctx, c, time.Now())
	if err != nil {
		return err
	}
	return c.Report(f, true, func() { c.Printf("%s", f.text(c.Terminal().Width, once)) })
}

// once is the height of a frame that is printed once.
const once = 24

// text returns the frame, with no line wider and no more lines than fits.
func (f *frame) text(width, height int) string {
	lines := append([]string{"kernstash top, " + f.at.Format(time.TimeOnly), ""}, f.Lines(f.at)...)
	line := func(name, format string, args ...any) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-9s %s", name, human.Printable(fmt.Sprintf(format, args...), false)), " "))
	}
	lines = append(lines, "")
	if passed := f.at.Sub(f.then.at); !f.then.at.IsZero() && passed > 0 {
		rate := func(of stats.Counter) string {
			return human.Figures(float64(max(f.Counts[of]-f.then.counts[of], 0)) / passed.Seconds())
		}
		line("rate", "%s hits a second, %s misses a second, in the last %.0f s", rate(stats.DiskHits), rate(stats.DiskMisses), passed.Seconds())
	}
	const below = 3 // lines
	name := "building"
	for i, b := range f.Building {
		if room := height - below - len(lines); room <= 1 && len(f.Building)-i > 1 {
			line(name, "and %d more", len(f.Building)-i)
			break
		}
		text := "a process of another user"
		if b.PID != 0 {
			text = fmt.Sprintf("%s, process %d", b.App, b.PID)
		}
		if since := f.since[b.at]; f.at.Sub(since) >= time.Second && !since.IsZero() {
			text += ", seen for " + human.Time(f.at.Sub(since).Truncate(time.Second))
		}
		line(name, "%s", text)
		name = ""
	}
	if len(f.Building) == 0 {
		line(name, "%s", nothing)
	}
	does := "does not run"
	switch {
	case len(f.Worker.Kernels) > 0:
		does = "builds " + human.Names(f.Worker.Kernels, 0)
	case f.Worker.Building != "":
		does = "builds " + f.Worker.Building
	case f.Worker.Running:
		does = "runs"
	}
	line("worker", "%s, %s waiting", does, human.Plural(f.Worker.Waiting, "job"))
	if f.err != nil {
		line("error", "%v", f.err)
	}
	for i, text := range lines {
		lines[i] = human.Clip(text, width)
	}
	return strings.Join(lines[:min(len(lines), height)], "\n") + "\n"
}

// watch shows frames on a terminal until the user has seen enough.
func watch(ctx context.Context, c cli.Cache, every time.Duration) error {
	quiet := *c.App
	quiet.Err = io.Discard // the screen is not to be written over
	c.App = &quiet
	first, err := look(ctx, c, time.Now())
	if err != nil {
		return err
	}
	m := &model{ctx: ctx, cache: c, every: every, width: 80, height: 24}
	m.take(first)
	p := tea.NewProgram(m, tea.WithInput(c.In), tea.WithOutput(c.Stream), tea.WithoutSignalHandler())
	// A program that its context ends does not wait for its reader, so it is asked to quit.
	defer context.AfterFunc(ctx, p.Quit)()
	_, err = p.Run()
	return cmp.Or(ctx.Err(), err)
}

// model is the state of the screen.
type model struct {
	ctx           context.Context
	cache         cli.Cache
	every         time.Duration
	width, height int
	frame         *frame
	samples       []sample // of the last minute, the oldest first
}

// window is the time that rates are of: processes write what they have counted once a minute at least.
const window = time.Minute

// take makes a frame the one that is shown.
func (m *model) take(f *frame) {
	f.since = make(map[int64]time.Time)
	for _, b := range f.Building {
		f.since[b.at] = f.at
		if m.frame != nil && !m.frame.since[b.at].IsZero() {
			f.since[b.at] = m.frame.since[b.at]
		}
	}
	for len(m.samples) > 1 && f.at.Sub(m.samples[1].at) >= window {
		m.samples = m.samples[1:]
	}
	if len(m.samples) > 0 {
		f.then = m.samples[0]
	}
	m.samples = append(m.samples, sample{f.at, f.Counts})
	m.frame = f
}

// looked is a frame, or why there is none.
type looked struct {
	frame *frame
	err   error
}

func (m *model) next() tea.Cmd {
	return tea.Tick(m.every, func(now time.Time) tea.Msg {
		f, err := look(m.ctx, m.cache, now)
		return looked{f, err}
	})
}

func (m *model) Init() tea.Cmd { return m.next() }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 20), msg.Height
	case tea.KeyPressMsg:
		if k := msg.String(); k == "q" || k == "esc" || k == "ctrl+c" {
			return m, tea.Quit
		}
	case looked:
		if msg.err != nil {
			m.frame.err = msg.err
		} else {
			m.take(msg.frame)
		}
		return m, m.next()
	}
	return m, nil
}

func (m *model) View() tea.View {
	v := tea.NewView(m.frame.text(m.width, m.height-1) + "q quits")
	v.AltScreen = true
	v.WindowTitle = "kernstash top"
	return v
}
