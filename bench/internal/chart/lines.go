package chart

import (
	"fmt"
	"math"
	"strings"
)

// Lines is a chart of panels with lines over the same axes, from 0 % to 100 %
// upwards, and with one legend, for at most MaxSeries of them.
type Lines struct {
	Title   string
	Caption []string
	Columns int
	X, Y    string    // the labels of the axes
	At      []float64 // where on the x axis the points are, in percent, on a logarithmic scale
	Series  []string
	Panels  []LinePanel
}

// MaxSeries is how many lines can be told apart.
const MaxSeries = 8

// LinePanel has a line for each series, in percent.
type LinePanel struct {
	Title string
	Lines [][]float64
}

const (
	plotHeight = 190
	legendRow  = 18
)

// SVG draws the chart.
func (l Lines) SVG() string {
	var c canvas
	y := l.legend(&c, top) + 12
	columns := max(l.Columns, 1)
	panel := (width - 2*margin - between*float64(columns-1)) / float64(columns)
	for i := 0; i < len(l.Panels); i += columns {
		for j, p := range l.Panels[i:min(i+columns, len(l.Panels))] {
			l.draw(&c, p, margin+float64(j)*(panel+between), y, panel)
		}
		y += plotHeight + 44
	}
	return c.whole(l.Title, l.Caption, y+bottom(l.Caption)-4)
}

func (l Lines) legend(c *canvas, y float64) float64 {
	x := float64(margin)
	for i, name := range l.Series {
		w := 44 + 7*float64(len(name))
		if x+w > width-margin {
			x, y = margin, y+legendRow
		}
		c.line(fmt.Sprintf("line l%d", i), x, y-4, x+26, y-4)
		c.text("", x+32, y, "start", name)
		x += w + 8
	}
	return y
}

func (l Lines) draw(c *canvas, p LinePanel, x, y, w float64) {
	c.text("panel", x, y+12, "start", p.Title)
	x0, y0, y1 := x+46, y+24, y+24+plotHeight-30
	from, to := math.Log(l.At[0]), math.Log(l.At[len(l.At)-1])
	across := func(v float64) float64 { return x0 + (x+w-10-x0)*(math.Log(v)-from)/(to-from) }
	up := func(v float64) float64 { return y1 - (y1-y0)*v/100 }
	for v := 0.0; v <= 100; v += 25 {
		c.line("grid", x0, up(v), x+w-10, up(v))
		c.text("note", x0-5, up(v)+4, "end", number(v))
	}
	for _, v := range l.At {
		c.line("grid", across(v), y0, across(v), y1)
		c.text("note", across(v), y1+15, "middle", number(v))
	}
	c.line("axis", x0, y0, x0, y1)
	c.line("axis", x0, y1, x+w-10, y1)
	c.text("note", (x0+x+w-10)/2, y1+31, "middle", l.X)
	c.add(`<text class="note" transform="translate(%.1f %.1f) rotate(-90)" text-anchor="middle">%s</text>`, x+11, (y0+y1)/2, l.Y)
	for i := len(p.Lines) - 1; i >= 0; i-- { // the first ones on top
		var d strings.Builder
		for j, v := range p.Lines[i] {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(j, 1)], across(l.At[j]), up(v))
		}
		c.add(`<path class="line l%d" d="%s"/>`, i, d.String())
	}
}
