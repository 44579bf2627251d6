package settings

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// sizeUnit returns what a unit, in small letters, stands for; 0 for none.
func sizeUnit(name string) uint64 {
	if name == "" || name == "b" {
		return 1
	}
	base := uint64(1024)
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
	number := text[:n]
	unit := sizeUnit(strings.ToLower(strings.TrimSpace(text[n:])))
	if unit == 0 || len(number) == 0 || len(number) > 32 || number[0] == '.' {
		return 0, errMalformed
	}
	whole, part, pointed := strings.Cut(number, ".")
	if pointed && unit == 1 {
		return 0, errMalformed // the unit was forgotten
	}
	// As decimals, digit by digit: no floating point number holds all of them.
	bytes, some := uint64(0), false
	for i := len(part) - 1; i >= 0; i-- {
		if part[i] == '.' {
			return 0, errMalformed
		}
		some = some || part[i] != '0'
		bytes = (uint64(part[i]-'0')*unit + bytes) / 10
	}
	count, err := strconv.ParseUint(whole, 10, 64)
	high, low := bits.Mul64(count, unit)
	bytes, carry := bits.Add64(bytes, low, 0)
	switch {
	case err != nil || high != 0 || carry != 0 || bytes >= math.MaxInt64:
		return 0, errMalformed
	case bytes == 0 && some:
		return 0, errMalformed // 0 means something else: no limit
	}
	return int64(bytes), nil
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
