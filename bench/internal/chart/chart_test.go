package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
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

func TestGroups(t *testing.T) {
	t.Parallel()
	svg := Groups{
		Title: "t", Unit: "s", Series: []Series{{"theirs", Other}, {"ours", Ours}},
		Groups: []Group{{"a < b", "-x", []float64{2, 0.4}}, {"c", "", []float64{20, 2}}},
	}.SVG()
	// The page, two of the legend, and four bars.
	if n := elements(t, svg); n["rect"] != 1+2+4 {
		t.Errorf("%d rectangles, want 7", n["rect"])
	}
	// The axis is 880 - 24 - 64 - 214 = 578 wide and goes from 0.2 to 20, two powers of ten: 2 is in the middle.
	for _, want := range []string{
		`<rect class="bar" x="214.0" y="106.0" width="289.0"`, ">2 s<",
		`<rect class="bar" x="214.0" y="158.0" width="578.0"`, ">20 s<", ">0.4 s<", "a &lt; b", ">-x<", "s, logarithmic",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in %s", want, svg)
		}
	}
}

func TestDecades(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		values []float64
		want   []float64
	}{
		{"two powers", []float64{2, 0.4, 20}, []float64{0.2, 0.5, 1, 2, 5, 10, 20}},
		{"a tick itself has a bar", []float64{0.5, 1}, []float64{0.2, 0.5, 1}},
		{"one value", []float64{3}, []float64{2, 5}},
		{"small", []float64{0.003, 0.004}, []float64{0.002, 0.005}},
	} {
		if got := decades([]Group{{Values: tt.values}}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
