// Package chart draws bar and line charts as SVG: panels side by side, one
// caption, readable on a light and on a dark page.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The width of every chart, and what stands around its panels, in pixels.
const (
	width   = 880
	margin  = 24
	between = 28 // of panels
)

// canvas collects the elements of a chart.
type canvas struct{ b strings.Builder }

// style has the colors of both modes. Lines are l0, l1 and so on; the first two
// stand out.
const style = `<style>
:root{color-scheme:light dark}
text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:12px;fill:#1f2328}
.page{fill:#ffffff;stroke:#d0d7de}.title{font-size:16px;font-weight:600}.panel{font-size:13px;font-weight:600}
.note{font-size:11px;fill:#59636e}.grid{stroke:#d0d7de;stroke-width:1;fill:none}.axis{stroke:#818b98;stroke-width:1;fill:none}
.ours{font-weight:600}.bar{fill:#8c959f}.bare{fill:#57606a}.first{fill:#0969da}
.line{fill:none;stroke-width:1.75;stroke-linejoin:round}
.l0{stroke:#0969da;stroke-width:3.25}.l1{stroke:#bc4c00;stroke-width:3.25}.l2{stroke:#1a7f37}.l3{stroke:#8250df}
.l4{stroke:#bf3989;stroke-dasharray:6 3}.l5{stroke:#9a6700;stroke-dasharray:2 3}.l6{stroke:#59636e;stroke-dasharray:8 3 2 3}.l7{stroke:#818b98;stroke-dasharray:1 4;stroke-width:2.5}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}.page{fill:#0d1117;stroke:#3d444d}.note{fill:#9198a1}.grid{stroke:#2f353d}.axis{stroke:#656c76}
.bar{fill:#656c76}.bare{fill:#9198a1}.first{fill:#4493f8}
.l0{stroke:#4493f8}.l1{stroke:#f0883e}.l2{stroke:#3fb950}.l3{stroke:#ab7df8}.l4{stroke:#db61a2}.l5{stroke:#d29922}.l6{stroke:#b1bac4}.l7{stroke:#9198a1}
}
</style>
`

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

func (c *canvas) text(class string, x, y float64, anchor, s string) {
	c.add(`<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor, html.EscapeString(s))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<path class="%s" d="M%.1f %.1fL%.1f %.1f"/>`, class, x1, y1, x2, y2)
}

// whole wraps what was drawn, with the title and the caption's lines.
func (c *canvas) whole(title string, caption []string, height float64) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n%s", html.EscapeString(title), style)
	fmt.Fprintf(&out, `<rect class="page" x="0.5" y="0.5" width="%d" height="%.0f" rx="6"/>`+"\n", width-1, height-1)
	var head canvas
	head.text("title", margin, 32, "start", title)
	for i, line := range caption {
		head.text("note", margin, height-12-16*float64(len(caption)-1-i), "start", line)
	}
	out.WriteString(head.b.String())
	out.WriteString(c.b.String())
	out.WriteString("</svg>\n")
	return out.String()
}

// top is where panels begin.
const top = 52

// bottom is what a caption takes.
func bottom(caption []string) float64 { return 14 + 16*float64(len(caption)) }

// step returns a round distance of about n ticks up to most.
func step(most float64, n int) float64 {
	if most <= 0 {
		return 1
	}
	raw := most / float64(n)
	magnitude := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5} {
		if raw <= f*magnitude {
			return f * magnitude
		}
	}
	return 10 * magnitude
}

func number(v float64) string {
	s := fmt.Sprintf("%.3f", v)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
