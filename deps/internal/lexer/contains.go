package lexer

import (
	"bytes"
)

// Contains is bytes.Contains for names in source code, where many begin alike, and with a
// character that half of all lines have in them: it looks for the rarest one.
func Contains(text []byte, name string) bool {
	if name == "" {
		return true
	}
	rarest := 0
	for i := range name {
		if rarity[name[i]] > rarity[name[rarest]] {
			rarest = i
		}
	}
	for from := rarest; from < len(text); from++ {
		n := bytes.IndexByte(text[from:], name[rarest])
		if n < 0 {
			return false
		}
		from += n
		if at := from - rarest; len(text)-at >= len(name) && string(text[at:at+len(name)]) == name {
			return true
		}
	}
	return false
}

// rarity orders characters by how rare they are in headers of C++. Any order is right.
var rarity [256]uint8

func init() {
	const common = "_etinosarlcdupmfhgybvwxkqjz"
	for c := range rarity {
		rarity[c] = uint8(len(common)) // capitals, digits
	}
	for i := range len(common) {
		rarity[common[i]] = uint8(i)
	}
}
