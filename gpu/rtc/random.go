package rtc

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Python's tempfile names a temporary directory, as CuPy does for each program that it
// compiles, so: this and 8 random characters of these.
const (
	randomStart  = "tmp"
	randomLength = 8
	randomFrom   = "abcdefghijklmnopqrstuvwxyz0123456789_"
)

// splitRandom splits a directory, which ends with a slash, whose name is random and which
// is directly below that of temporary files. Two of one parent differ in random alone.
// Both are "" for any other directory.
func splitRandom(dir string) (parent, random string) {
	dir = strings.TrimSuffix(dir, "/")
	parent = NameDir(dir)
	random, ok := strings.CutPrefix(dir[len(parent):], randomStart)
	if !ok || len(random) != randomLength || strings.Trim(random, randomFrom) != "" ||
		!slices.Contains([]string{"/tmp", "/var/tmp", strings.TrimSuffix(os.TempDir(), "/")}, strings.TrimSuffix(parent, "/")) {
		return "", ""
	}
	return parent, random
}

// shown is how many of the random characters in a row count as some of them, since code
// copies texts by numbers of so many bytes, or of more, or by single ones.
const shown = 4

// shows reports whether the output may have the random part of the directory of a
// program's name in it, other than as a part of that name in the log: as a text, or as
// numbers that code is made of. What code computes of a path is not to be seen: it is as
// random as the path.
func (o *Output) shows(name string) bool {
	parent, random := splitRandom(NameDir(name))
	ptx, ok := o.Get(PTX)
	if random == "" || !ok {
		return true
	}
	hidden := parent + randomStart + strings.Repeat("*", len(random)) + "/" + name[len(NameDir(name)):]
	whole, narrow := numbers(ptx)
	texts := [][]byte{rename(o.log.Data, name, hidden), ptx, whole}
	for f, a := range o.forms {
		if f := Form(f); f == CUBIN {
			texts = append(texts, a.Data)
		} else if f != PTX && len(a.Data) > 0 {
			return true // it packs bits
		}
	}
	for _, l := range o.lowered {
		texts = append(texts, []byte(l.Name))
	}
	for i := range len(random) - shown + 1 {
		some := []byte(random[i : i+shown])
		if slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(text, some) }) {
			return true
		}
	}
	return strings.IndexFunc(random, func(c rune) bool { return !narrow[c] }) < 0
}

// numbers returns the whole numbers in PTX, but those between brackets, as the bytes that
// they are in memory: texts are lists of them. narrow are the bytes of those in instructions
// on 8 and 16 bits.
func numbers(ptx []byte) (whole []byte, narrow [256]bool) {
	for line := range bytes.Lines(ptx) {
		opcode := ""
		for i := 0; i < len(line); {
			from := i
			switch {
			case line[i] == '[':
				for i < len(line) && line[i] != ']' {
					i++
				}
				continue
			case !inNumber(line[i]):
				i++
				continue
			}
			for i < len(line) && inNumber(line[i]) {
				i++
			}
			word := line[from:i]
			if c := word[0]; c < '0' || c > '9' {
				if opcode == "" && c != '%' {
					opcode = string(word)
				}
				continue
			}
			n, err := strconv.ParseUint(strings.TrimRight(string(word), "U"), 0, 64)
			if err != nil {
				continue // a floating-point number
			}
			if n <= 0xff {
				whole = append(whole, byte(n))
			} else {
				whole = binary.LittleEndian.AppendUint64(whole, n)
			}
			if strings.HasSuffix(opcode, "8") || strings.HasSuffix(opcode, "16") {
				narrow[byte(n)], narrow[byte(n>>8)] = true, true
			}
		}
	}
	return whole, narrow
}

// inNumber reports whether a character is one of numbers, and of names, in PTX.
func inNumber(c byte) bool {
	return c == '_' || c == '$' || c == '%' || c == '.' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
