package chart

// Bars is a chart of panels with horizontal bars.
type Bars struct {
	Title   string
	Caption []string
	Columns int
	Panels  []BarPanel
}

// BarPanel compares values of one unit.
type BarPanel struct {
	Title string
	Unit  string // the label of the axis
	Bars  []Bar
}

// Bar is one value.
type Bar struct {
	Name  string
	Value float64
	Kind  Kind
}

// Kind says how a bar looks.
type Kind string

// The kinds.
const (
	Ours  Kind = "first"
	Bare  Kind = "bare"
	Other Kind = "bar"
)

const barHeight = 21

// SVG draws the chart.
func (b Bars) SVG() string {
	var c canvas
	columns := max(b.Columns, 1)
	panel := (width - 2*margin - between*float64(columns-1)) / float64(columns)
	y := float64(top)
	for i := 0; i < len(b.Panels); i += columns {
		deepest := 0.0
		for j, p := range b.Panels[i:min(i+columns, len(b.Panels))] {
			deepest = max(deepest, p.draw(&c, margin+float64(j)*(panel+between), y, panel))
		}
		y += deepest + between
	}
	return c.whole(b.Title, b.Caption, y-between+8+bottom(b.Caption))
}

// draw returns the panel's height.
func (p BarPanel) draw(c *canvas, x, y, w float64) float64 {
	longest := 0
	most := 0.0
	for _, b := range p.Bars {
		longest, most = max(longest, len(b.Name)), max(most, b.Value)
	}
	left := x + 10 + 6.4*float64(longest)
	room := x + w - left - 52 // the value stands behind its bar
	c.text("panel", x, y+12, "start", p.Title)
	y0 := y + 22
	y1 := y0 + barHeight*float64(len(p.Bars))
	each := step(most, 4)
	for v := 0.0; v <= most*1.0001; v += each {
		at := left + room*v/most
		c.line("grid", at, y0, at, y1)
		c.text("note", at, y1+14, "middle", number(v))
	}
	c.line("axis", left, y0, left, y1)
	c.text("note", left+room/2, y1+29, "middle", p.Unit)
	for i, b := range p.Bars {
		at := y0 + barHeight*float64(i)
		class := ""
		if b.Kind == Ours {
			class = "ours"
		}
		c.text(class, left-6, at+15, "end", b.Name)
		long := max(room*b.Value/most, 1)
		c.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2"/>`, b.Kind, left, at+3, long, barHeight-6)
		c.text(class, left+long+5, at+15, "start", figures(b.Value))
	}
	return y1 + 34 - y
}

// figures writes a value with three figures at most.
func figures(v float64) string {
	switch {
	case v >= 100:
		return number(float64(int64(v + 0.5)))
	case v >= 10:
		return number(float64(int64(v*10+0.5)) / 10)
	}
	return number(float64(int64(v*100+0.5)) / 100)
}
