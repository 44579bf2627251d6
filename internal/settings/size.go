package settings

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

var sizeUnits = map[string]int64{
	"": 1, "b": 1,
	"k": 1 << 10, "kib": 1 << 10, "kb": 1e3,
	"m": 1 << 20, "mib": 1 << 20, "mb": 1e6,
	"g": 1 << 30, "gib": 1 << 30, "gb": 1e9,
	"t": 1 << 40, "tib": 1 << 40, "tb": 1e12,
	"p": 1 << 50, "pib": 1 << 50, "pb": 1e15,
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
	unit, known := sizeUnits[strings.ToLower(strings.TrimSpace(text[n:]))]
	if !known || len(number) == 0 || len(number) > 32 || number[0] == '.' {
		return 0, errMalformed
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, errMalformed
	}
	if unit == 1 && strings.Contains(number, ".") {
		return 0, errMalformed // the unit was forgotten
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	bytes := new(big.Int).Quo(r.Num(), r.Denom())
	if bytes.Sign() == 0 && r.Sign() != 0 {
		return 0, errMalformed // 0 means something else: no limit
	}
	if !bytes.IsInt64() || bytes.Int64() == math.MaxInt64 {
		return 0, errMalformed
	}
	return bytes.Int64(), nil
}

// FormatSize returns the shortest text that ParseSize reads as n again, in the
// largest power of 1024 that divides it.
func FormatSize(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 50, "PiB"}, {1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
