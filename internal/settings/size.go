package settings

import (
	"math"
	"strconv"
	"strings"
)

// sizeUnit returns what a unit, in small letters, stands for; 0 for none.
func sizeUnit(name string) int64 {
	if name == "" || name == "b" {
		return 1
	}
	kibi, kilo := int64(1), int64(1)
	for _, letter := range []string{"k", "m", "g", "t", "p"} {
		kibi, kilo = kibi*1024, kilo*1000
		switch name {
		case letter, letter + "ib":
			return kibi
		case letter + "b":
			return kilo
		}
	}
	return 0
}

// ParseSize reads a number of bytes such as 1000000, 512MiB, 1.5g or 5GB. A
// letter alone counts in powers of 1024, as its KiB form does; KB and its like
// are powers of 1000.
func ParseSize(text string) (int64, error) {
	text = strings.TrimSpace(text)
	name := strings.TrimLeft(text, ".0123456789")
	number, unit := strings.TrimSuffix(text, name), sizeUnit(strings.ToLower(strings.TrimSpace(name)))
	size, err := strconv.ParseFloat(number, 64)
	size *= float64(unit)
	if err != nil || unit == 0 || number[0] == '.' || size >= math.MaxInt64 {
		return 0, errMalformed
	}
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil {
		return whole * unit, nil // which a floating point number may not hold
	}
	if unit == 1 || size > 0 && size < 1 {
		return 0, errMalformed // the unit was forgotten; 0 means something else: no limit
	}
	return int64(size), nil
}

// FormatSize returns the shortest text that ParseSize reads as n again, in the
// largest power of 1024 that divides it.
func FormatSize(n int64) string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for ; n != 0 && n%1024 == 0 && len(units) > 1; n /= 1024 {
		units = units[1:]
	}
	return strconv.FormatInt(n, 10) + units[0]
}
