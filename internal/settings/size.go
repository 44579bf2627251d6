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
	base := int64(1024)
	switch name[1:] {
	case "", "ib":
	case "b":
		base = 1000
	default:
		return 0
	}
	power := strings.IndexByte("kmgtp", name[0])
	if power < 0 {
		return 0
	}
	unit := base
	for range power {
		unit *= base
	}
	return unit
}

// ParseSize reads a number of bytes such as 1000000, 512MiB, 1.5g or 5GB. A
// letter alone counts in powers of 1024, as its KiB form does; KB and its like
// are powers of 1000.
func ParseSize(text string) (int64, error) {
	text = strings.TrimSpace(text)
	n := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if n < 0 {
		n = len(text)
	}
	number, unit := text[:n], sizeUnit(strings.ToLower(strings.TrimSpace(text[n:])))
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
	unit := ""
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatInt(n, 10) + unit
}
