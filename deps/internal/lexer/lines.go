// Package lexer tells the characters, literals and lines of C and its kin apart.
package lexer

import (
	"bytes"
)

// Logical returns src as the compiler sees it before it looks for tokens: one
// kind of line end, no byte order mark, one kind of rare white space (NUL is
// some), and continued lines joined. doubtful says that compilers disagree about
// it: a backslash before blanks at the end of a line, or a trigraph that may end a
// line or a literal. joined are the places in text where lines were joined, which
// compilers take apart again within raw strings.
func Logical(src []byte) (text []byte, joined []int, doubtful bool) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	for _, c := range []byte(rare) {
		if bytes.IndexByte(src, c) >= 0 {
			return logicalSlowly(src)
		}
	}
	doubtful = bytes.Contains(src, []byte("??/")) || bytes.Contains(src, []byte("??'"))
	plain := 0 // what is behind it is not in text yet
	for i := 0; ; i++ {
		next := bytes.IndexByte(src[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		end, blanks := lineEnd(src, i+1)
		if end == 0 {
			continue
		}
		if text == nil {
			text = make([]byte, 0, len(src)+1)
		}
		text = append(text, src[plain:i]...)
		joined = append(joined, len(text))
		doubtful = doubtful || blanks
		plain, i = end, end-1
	}
	if text == nil && bytes.HasSuffix(src, []byte{'\n'}) {
		return src, nil, doubtful // most headers: nothing is copied
	}
	return append(append(text, src[plain:]...), '\n'), joined, doubtful
}

// rare are the characters that are other ones to a compiler.
const rare = "\r\x00\f\v"

// logicalSlowly is Logical for any source.
func logicalSlowly(src []byte) (text []byte, joined []int, doubtful bool) {
	text = make([]byte, 0, len(src)+1)
	for i := 0; i < len(src); i++ {
		plain := i
		for i < len(src) && !unusual[src[i]] {
			i++
		}
		if text = append(text, src[plain:i]...); i == len(src) {
			break
		}
		switch c := src[i]; c {
		case '\r':
			if i+1 < len(src) && src[i+1] == '\n' {
				i++
			}
			text = append(text, '\n')
		case 0, '\f', '\v':
			text = append(text, '\v') // a blank, which no header's name may have in it
		case '\\':
			end, blanks := lineEnd(src, i+1)
			if end == 0 {
				text = append(text, c)
				continue
			}
			joined = append(joined, len(text))
			doubtful = doubtful || blanks
			i = end - 1
		case '?':
			// A trigraph for a backslash or for an accent decides where a literal
			// ends, and only some compilers, by their options, know trigraphs.
			doubtful = doubtful || bytes.HasPrefix(src[i:], []byte("??/")) || bytes.HasPrefix(src[i:], []byte("??'"))
			text = append(text, c)
		}
	}
	return append(text, '\n'), joined, doubtful
}

// unusual are the characters that logicalSlowly looks at.
var unusual = [256]bool{'\r': true, 0: true, '\f': true, '\v': true, '\\': true, '?': true}

// lineEnd returns the index behind the line end that follows i, or 0 where
// something else follows; blanks says that blanks stood between.
func lineEnd(src []byte, i int) (end int, blanks bool) {
	for ; i < len(src); i++ {
		switch src[i] {
		case '\n':
			return i + 1, blanks
		case '\r':
			if i+1 < len(src) && src[i+1] == '\n' {
				return i + 2, blanks
			}
			return i + 1, blanks
		case ' ', '\t', '\v', '\f', 0:
			blanks = true
		default:
			return 0, false
		}
	}
	return 0, false
}
