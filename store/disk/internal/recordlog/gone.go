package recordlog

import (
	"encoding/hex"
	"time"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// maxGone bounds what is noted of what one trim removes.
const maxGone = 4096

// Gone gathers entries that are removed for one reason. It is for one goroutine.
type Gone struct {
	Why string
	Now func() time.Time
	Off bool // nothing is noted

	n     int
	lines []byte
}

// Add notes an entry at a place.
func (g *Gone) Add(place records.Place) {
	if g.n++; g.Off || g.n > maxGone {
		return
	}
	if g.lines == nil {
		g.lines = []byte("\n")
	}
	l := records.Line{Kind: records.Gone, At: g.Now(), Entry: records.Entry{Place: place}, Reason: g.Why}
	g.lines = l.Append(g.lines)
}

// Leaf notes what was in a leaf directory.
func (g *Gone) Leaf(names rootdir.LeafNames) {
	var p records.Place
	for i, name := range names {
		_, _ = hex.Decode(p[16*i:16*i+16], []byte(name)) // 32 digits: IsDirName
	}
	g.Add(p)
}

// Write writes what was gathered. That it cannot be written is nobody's concern.
func (g *Gone) Write(m *rootdir.Meta) {
	lines := g.lines
	g.lines, g.n = nil, 0
	if len(lines) > 0 {
		_ = Append(m, lines)
	}
}
