package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func elements(t *testing.T, svg string) (n map[string]int) {
	t.Helper()
	n = make(map[string]int)
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			n[e.Name.Local]++
		}
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	svg := Bars{Title: "a < b", Caption: []string{"somewhere"}, Columns: 2, Panels: []BarPanel{
		{"one", "ns", []Bar{{"ours", 17, Ours}, {"bare", 15, Bare}}}, {"two", "µs", []Bar{{"ours & theirs", 1234.5, Other}}},
	}}.SVG()
	if n := elements(t, svg); n["rect"] != 1+3 {
		t.Errorf("%d rectangles, want the page and three bars", n["rect"])
	}
	for _, want := range []string{"a &lt; b", "ours &amp; theirs", ">17<", ">1235<", "prefers-color-scheme:dark", "somewhere"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	svg := Lines{
		Title: "t", Columns: 2, X: "limit", Y: "hits", At: []float64{10, 20, 40}, Series: []string{"a", "b"},
		Panels: []LinePanel{{"p", [][]float64{{0, 50, 100}, {1, 2, 3}}}},
	}.SVG()
	elements(t, svg)
	// A panel is (880 - 2*24 - 28) / 2 = 402 wide, its plot from 70 to 416. 20 is in
	// the middle between 10 and 40 on a logarithmic scale; 0 % is on
	// the axis, 100 % at the top.
	if !strings.Contains(svg, `class="line l0" d="M70.0 248.0L243.0 168.0L416.0 88.0"`) {
		t.Errorf("no such line in %s", svg)
	}
}

func TestStep(t *testing.T) {
	t.Parallel()
	for most, want := range map[float64]float64{100: 50, 61: 20, 3.9: 1, 640: 200, 0: 1} {
		if got := step(most, 4); got != want {
			t.Errorf("up to %v: %v, want %v", most, got, want)
		}
	}
}
