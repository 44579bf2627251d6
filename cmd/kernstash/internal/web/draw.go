package web

import (
	"fmt"
	"strconv"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
	"github.com/kernstash/kernstash/internal/human"
)

// box is a rectangle of a drawing, in percent of its width and height.
type box struct {
	X, Y, W, H float64
	Class      string
	Label      string // what stands in it
	Title      string
	Link       string // "": none
}

// Percent is how SVG has it.
func (b box) Percent(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) + "%" }

// HasText reports whether the box is large enough for its label, on a wide screen.
func (b box) HasText() bool { return b.W > 3 && b.H > 4 }

// day is what happened on a day.
type day struct {
	Date         string
	Hits, Misses int64
	Saved, Spent time.Duration
}

// lastDays returns the last n days, those without records included, the first one first.
func lastDays(days []ledger.Day, now time.Time, n int) []day {
	of := make(map[string]ledger.Day, len(days))
	for _, d := range days {
		of[d.Date] = d
	}
	all := make([]day, n)
	for i := range all {
		date := now.AddDate(0, 0, i-n+1).Format(time.DateOnly)
		d := of[date]
		all[i] = day{date, d.Hits, d.Misses, time.Duration(d.Saved) * time.Microsecond, time.Duration(d.Spent) * time.Microsecond}
	}
	return all
}

// bars draws the time that was saved on each day; most is the time of the highest bar.
func bars(days []day) (boxes []box, most time.Duration) {
	for _, d := range days {
		most = max(most, d.Saved)
	}
	width := 100 / float64(len(days))
	for i, d := range days {
		if d.Saved <= 0 {
			continue
		}
		height := max(100*float64(d.Saved)/float64(most), 0.5)
		title := fmt.Sprintf("%s: %s saved, %s, %s", d.Date, human.Time(d.Saved), human.Plural(d.Hits, "hit"), human.Plural(d.Misses, "miss"))
		boxes = append(boxes, box{X: float64(i) * width, Y: 100 - height, W: width * 0.8, H: height, Title: title})
	}
	return boxes, most
}

// The space that a treemap fills, about as wide as high as it is on a screen.
const mapWidth, mapHeight = 160.0, 100.0

// treemap gives each of the sizes, the largest first, its part of the whole, as near to a square as it can be ("Squarified
// Treemaps", Bruls et al.).
func treemap(sizes []int64) []box {
	var sum float64
	for _, n := range sizes {
		sum += float64(n)
	}
	areas := make([]float64, len(sizes))
	for i, n := range sizes {
		areas[i] = float64(n) / sum * mapWidth * mapHeight
	}
	boxes := make([]box, 0, len(sizes))
	x, y, w, h := 0.0, 0.0, mapWidth, mapHeight
	for len(areas) > 0 {
		side := min(w, h)
		n, row := 1, areas[0]
		for n < len(areas) && worst(areas[:n+1], row+areas[n], side) <= worst(areas[:n], row, side) {
			row += areas[n]
			n++
		}
		thick := 0.0
		if side > 0 {
			thick = row / side
		}
		at := 0.0
		for _, a := range areas[:n] {
			long := 0.0
			if thick > 0 {
				long = a / thick
			}
			if w >= h { // a column
				boxes = append(boxes, box{X: x, Y: y + at, W: thick, H: long})
			} else {
				boxes = append(boxes, box{X: x + at, Y: y, W: long, H: thick})
			}
			at += long
		}
		if w >= h {
			x, w = x+thick, max(w-thick, 0)
		} else {
			y, h = y+thick, max(h-thick, 0)
		}
		areas = areas[n:]
	}
	for i := range boxes {
		b := &boxes[i]
		b.X, b.W, b.Y, b.H = b.X*100/mapWidth, b.W*100/mapWidth, b.Y*100/mapHeight, b.H*100/mapHeight
		b.Class = "c" + strconv.Itoa(i%8)
	}
	return boxes
}

// worst returns how far from a square the worst of a row is; the areas are sorted.
func worst(areas []float64, sum, side float64) float64 {
	if sum <= 0 || areas[len(areas)-1] <= 0 || side <= 0 {
		return 1
	}
	s := sum * sum
	return max(side*side*areas[0]/s, s/(side*side*areas[len(areas)-1]))
}

// track is a line of a run's timeline.
type track struct {
	Name  string
	Boxes []box
}

// maxPieces bounds what is drawn of a run.
const maxPieces = 4000

// tracks draws a run. more is how many pieces of time are not drawn.
func tracks(run *timeline.Run) (all []track, more int) {
	lines, origin := run.Tracks()
	end := origin.Add(time.Duration(run.Millis * float64(time.Millisecond)))
	for _, l := range lines {
		for _, p := range l.Slices {
			if p.Ended.After(end) {
				end = p.Ended
			}
		}
	}
	whole := float64(max(end.Sub(origin), 1))
	drawn := 0
	for _, l := range lines {
		t := track{Name: fmt.Sprintf("%s, process %d", l.Program, l.PID)}
		for i := range l.Slices {
			p := &l.Slices[i]
			if drawn++; drawn > maxPieces {
				more++
				continue
			}
			took := p.Ended.Sub(p.Begun)
			title := fmt.Sprintf("%s %s: %s, %s after the begin", p.What, p.Label(), human.Time(took), human.Time(p.Begun.Sub(origin)))
			t.Boxes = append(t.Boxes, box{
				X: 100 * float64(p.Begun.Sub(origin)) / whole, W: max(100*float64(took)/whole, 0.1), H: 100, Class: string(p.What), Title: title,
			})
		}
		all = append(all, t)
	}
	return all, more
}
