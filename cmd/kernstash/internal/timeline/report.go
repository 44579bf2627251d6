package timeline

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
)

// WriteText says for people where the time went, in lines that fit the terminal.
func (w *Where) WriteText(out io.Writer, t terminal.Terminal) error {
	took := func(ms float64) string {
		if ms == 0 {
			return "–"
		}
		return human.Time(time.Duration(ms * float64(time.Millisecond)))
	}
	command := human.Printable(strings.Join(w.Command, " "), false)
	text := fmt.Sprintf("%s: %s, exit status %d\n", command, took(w.Millis), w.Status)
	text += fmt.Sprintf("  compiling %s, loading %s, waiting for somebody who compiled %s, all else %s\n",
		took(w.CompilingMS), took(w.LoadingMS), took(w.WaitingMS), took(w.OtherMS))
	fmt.Fprint(out, human.WrapColumns(text, t.Lines))
	if len(w.Layers) > 0 {
		var texts []string
		for _, l := range w.Layers {
			texts = append(texts, fmt.Sprintf("%d from %s", l.N, l.What))
		}
		fmt.Fprintf(out, "  found: %s\n", human.Printable(strings.Join(texts, ", "), false))
	}
	fmt.Fprint(out, w.Restored.Text())
	if len(w.Processes) == 0 {
		fmt.Fprintln(out, "  nothing was asked of the cache that took time")
		return nil
	}
	var rows [][]string
	for _, p := range w.Processes {
		rows = append(rows, []string{
			strconv.Itoa(p.PID), human.Printable(p.Program, false), strconv.Itoa(p.Asked), took(p.CompilingMS), took(p.LoadingMS), took(p.WaitingMS),
		})
	}
	if err := t.WriteTable(out, []string{"PID", "PROGRAM", "REQUESTS", "COMPILING", "LOADING", "WAITING"}, rows); err != nil {
		return err
	}
	fmt.Fprintln(out)
	rows = nil
	for i := range w.Longest {
		s := &w.Longest[i]
		rows = append(rows, []string{
			cmp.Or(human.Printable(s.Key, false), "–"), string(s.Outcome), took(human.Millis(s.Spent)), took(human.Millis(s.Waited)), entries.Label(s.Label),
		})
	}
	if err := t.WriteTable(out, []string{"KEY", "OUTCOME", "SPENT", "WAITED", "KERNELS"}, rows); err != nil {
		return err
	}
	if w.More > 0 {
		fmt.Fprintf(out, "%s more are not in the report\n", human.Plural(w.More, "request"))
	}
	return nil
}
