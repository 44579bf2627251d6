package chart

import (
	"fmt"
	"math"
)

// Groups is a chart of groups of horizontal bars over one logarithmic axis.
type Groups struct {
	Title   string
	Caption []string
	Unit    string   // the label of the axis, and what stands behind each value
	Series  []Series // the bars of each group, from above
	Groups  []Group
}

// Series names what the bars in one place of all groups have in common.
type Series struct {
	Name string
	Kind Kind
}

// Group has a value for each series, each above 0.
type Group struct {
	Name   string
	Note   string // stands under the name
	Values []float64
}

const (
	groupNames = 190 // what stands left of the axis
	groupBar   = 20
	groupGap   = 12
)

// SVG draws the chart.
func (g Groups) SVG() string {
	var c canvas
	y := float64(top)
	for _, s := range g.Series {
		c.add(`<rect class="%s" x="%d" y="%.1f" width="26" height="12" rx="2"/>`, s.Kind, margin, y-10)
		c.text(s.class(), margin+34, y, "start", s.Name)
		y += legendRow
	}
	x0, x1 := float64(margin+groupNames), float64(width-margin-64)
	y0 := y + 4
	y1 := y0 + float64(len(g.Groups))*(groupBar*float64(len(g.Series))+groupGap) + groupGap
	ticks := decades(g.Groups)
	from, to := math.Log(ticks[0]), math.Log(ticks[len(ticks)-1])
	across := func(v float64) float64 { return x0 + (x1-x0)*(math.Log(v)-from)/(to-from) }
	for _, v := range ticks {
		c.line("grid", across(v), y0, across(v), y1)
		c.text("note", across(v), y1+15, "middle", number(v))
	}
	c.line("axis", x0, y0, x0, y1)
	c.text("note", (x0+x1)/2, y1+31, "middle", g.Unit+", logarithmic")
	at := y0 + groupGap
	for _, group := range g.Groups {
		middle := at + groupBar*float64(len(group.Values))/2
		c.text("panel", x0-12, middle, "end", group.Name)
		c.text("note", x0-12, middle+15, "end", group.Note)
		for i, v := range group.Values {
			c.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2"/>`, g.Series[i].Kind, x0, at+2, across(v)-x0, groupBar-4)
			c.text(g.Series[i].class(), across(v)+6, at+14, "start", fmt.Sprintf("%s %s", figures(v), g.Unit))
			at += groupBar
		}
		at += groupGap
	}
	return c.whole(g.Title, g.Caption, y1+44+bottom(g.Caption))
}

func (s Series) class() string {
	if s.Kind == Ours {
		return "ours"
	}
	return ""
}

// decades returns the ticks of a logarithmic axis, 1, 2 and 5 of each power of ten: the first is below
// all values, so that each has a bar, and the last is not.
func decades(groups []Group) []float64 {
	least, most := math.Inf(1), 0.0
	for _, g := range groups {
		for _, v := range g.Values {
			least, most = min(least, v), max(most, v)
		}
	}
	var ticks []float64
	for power := math.Floor(math.Log10(least)) - 1; ; power++ {
		for _, f := range []float64{1, 2, 5} {
			// Divided by a power of ten a tick is the number that its digits say.
			v := f * math.Pow(10, power)
			if power < 0 {
				v = f / math.Pow(10, -power)
			}
			if v < least {
				ticks = ticks[:0]
			}
			ticks = append(ticks, v)
			if v >= most && len(ticks) > 1 {
				return ticks
			}
		}
	}
}
