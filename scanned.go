package kernstash

import (
	"bytes"
	"sync"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// scanned remembers, by the digest of an image of one unit without headers in memory,
// what a scan of its code found: that depends on nothing else, and programs are asked for
// again and again.
var scanned scans

type scans struct {
	mu     sync.Mutex
	all    map[key.Digest]finding
	images [imagesKept]*key.Image // the last ones of one unit without headers
	next   int                    // the oldest of them
}

type finding struct {
	reads   bool // files, maybe
	against deps.Reason
}

const (
	scansKept  = 64
	scanLeast  = 2 << 10  // bytes of code; less is scanned, and hashed, as fast
	imagesKept = 4        // for some time
	imageMost  = 64 << 10 // bytes of code in one of them
)

// image is key.NewImageSet. For the code of one of the last images it returns that very
// image: comparing takes a twentieth of copying and hashing.
func (s *scans) image(units []key.Unit) (*key.Image, error) {
	keep := len(units) == 1 && len(units[0].Headers) == 0 &&
		len(units[0].Code) >= scanLeast && len(units[0].Code) <= imageMost
	if keep {
		if img := s.keptImage(&units[0]); img != nil {
			return img, nil
		}
	}
	img, err := key.NewImageSet(units...)
	if err == nil && keep {
		s.mu.Lock()
		s.images[s.next] = img
		s.next = (s.next + 1) % imagesKept
		s.mu.Unlock()
	}
	return img, err
}

// keptImage returns the image that is kept of a unit; nil: none is.
func (s *scans) keptImage(u *key.Unit) *key.Image {
	s.mu.Lock()
	images := s.images
	s.mu.Unlock()
	for _, img := range images {
		if img == nil {
			continue
		}
		if of := &img.Units()[0]; of.Kind == u.Kind && bytes.Equal(of.Code, u.Code) {
			return img
		}
	}
	return nil
}

// forget lets the images go.
func (s *scans) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.images = [imagesKept]*key.Image{}
}

// unit is deps.ScanUnit of the i-th unit.
func (s *scans) unit(img *key.Image, i int) finding {
	units := img.Units()
	remember := len(units) == 1 && len(units[0].Headers) == 0 && len(units[0].Code) >= scanLeast
	if remember {
		s.mu.Lock()
		known, ok := s.all[img.Digest()]
		s.mu.Unlock()
		if ok {
			return known
		}
	}
	line, against := deps.ScanUnit(units[i])
	found := finding{line != "", against}
	if remember {
		s.mu.Lock()
		if s.all == nil || len(s.all) >= scansKept {
			s.all = make(map[key.Digest]finding)
		}
		s.all[img.Digest()] = found
		s.mu.Unlock()
	}
	return found
}
