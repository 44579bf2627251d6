package caches

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// Programs are those of a cache that are of one device, or of one kind of file: DPC++ writes down the one, Intel's
// driver has the other.
type Programs struct {
	Device string `json:"device,omitempty"` // its platform, name and version, and the driver's
	Kind   string `json:"kind,omitempty"`   // cl_cache, l0_cache, ocloc_cache
	Count  int    `json:"count"`
	Bytes  int64  `json:"bytes"` // of the built programs
}

// Bounds of what is read.
const (
	maxDevice  = 1024 // bytes of what says which device a program is of
	maxDevices = 64   // of a cache
)

// What stands for a device that is not known, and for those over maxDevices.
const (
	unknown = "unknown"
	others  = "others"
)

// neo are the ends of the names of programs in the cache of Intel's driver.
var neo = []string{".cl_cache", ".l0_cache", ".ocloc_cache"}

// program counts a file if it is a program of a tool whose layout is known.
func (w *walk) program(root *os.Root, name string, size int64, c *Cache) {
	switch end := path.Ext(name); {
	case c.Tool == "neo" && slices.Contains(neo, end) && isNumber(strings.TrimSuffix(path.Base(name), end), "0123456789abcdef"):
		c.count(Programs{Kind: end[1:], Bytes: size})
	case c.Tool == "dpcpp" && end == ".bin" && depth(name) == 5 && isNumber(strings.ReplaceAll(strings.TrimSuffix(name, end), "/", ""), "0123456789"):
		c.count(Programs{Device: w.device(root, strings.TrimSuffix(name, end)+".src"), Bytes: size})
	}
}

func isNumber(text, digits string) bool { return text != "" && strings.Trim(text, digits) == "" }

func (c *Cache) count(p Programs) {
	of := func(have Programs) bool { return have.Device == p.Device && have.Kind == p.Kind }
	i := slices.IndexFunc(c.Programs, of)
	if i < 0 && len(c.Programs) >= maxDevices {
		p.Device = others
		i = slices.IndexFunc(c.Programs, of)
	}
	if i < 0 {
		i = len(c.Programs)
		c.Programs = append(c.Programs, Programs{Device: p.Device, Kind: p.Kind})
	}
	c.Programs[i].Count++
	c.Programs[i].Bytes += p.Bytes
}

// device returns what the description of a program says of its device.
func (w *walk) device(root *os.Root, name string) string {
	f, err := openQuietly(root, name)
	if err != nil {
		return unknown
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return unknown
	}
	text, err := firstText(f)
	if err != nil {
		return unknown
	}
	return cmp.Or(text, unknown)
}

var errLong = errors.New("longer than any device")

// firstText returns the first text of a description: texts with their lengths before them, in eight bytes.
func firstText(r io.Reader) (string, error) {
	var n uint64
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return "", err
	}
	if n > maxDevice {
		return "", errLong
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return strings.ToValidUTF8(string(b), "?"), err
}
