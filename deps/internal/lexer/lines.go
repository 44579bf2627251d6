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
	plain := 0 // what is behind it is not in text yet
	for i := nextUnusual(src, 0); i < len(src); i = nextUnusual(src, i+1) {
		as, end := byte(0), i+1 // what stands for the bytes up to end
		switch src[i] {
		case '\r':
			if as = '\n'; end < len(src) && src[end] == '\n' {
				end++
			}
		case '\\':
			var blanks bool
			if end, blanks = lineEnd(src, end); end == 0 {
				continue
			}
			doubtful = doubtful || blanks
		case '?':
			// A trigraph for a backslash or for an accent decides where a literal
			// ends, and only some compilers, by their options, know trigraphs.
			doubtful = doubtful || bytes.HasPrefix(src[i:], []byte("??/")) || bytes.HasPrefix(src[i:], []byte("??'"))
			continue
		default:
			as = '\v' // a blank, which no header's name may have in it
		}
		if text == nil {
			text = make([]byte, 0, len(src)+1)
		}
		if text = append(text, src[plain:i]...); as != 0 {
			text = append(text, as)
		} else {
			joined = append(joined, len(text))
		}
		plain, i = end, end-1
	}
	if text == nil && bytes.HasSuffix(src, []byte{'\n'}) {
		return src, nil, doubtful // most headers: nothing is copied
	}
	return append(append(text, src[plain:]...), '\n'), joined, doubtful
}

// unusual are the characters that may be other ones to a compiler.
const unusual = "\\?\r\x00\f\v"

// nextUnusual returns the index of the first of them from i on, or the length of src.
func nextUnusual(src []byte, i int) int {
	if n := bytes.IndexAny(src[i:], unusual); n >= 0 {
		return i + n
	}
	return len(src)
}

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
