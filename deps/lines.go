package deps

import "bytes"

// logical returns src as the compiler sees it before it looks for tokens: one
// kind of line end, no byte order mark, one kind of rare white space (NUL is
// some), and continued lines joined. doubtful says that compilers disagree about
// it: a backslash before blanks at the end of a line, or a trigraph that may end a
// line or a literal.
func logical(src []byte) (text []byte, doubtful bool) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	if bytes.HasSuffix(src, []byte{'\n'}) && isPlain(src) {
		return src, false
	}
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
			doubtful = doubtful || blanks
			i = end - 1
		case '?':
			// A trigraph for a backslash or for an accent decides where a literal
			// ends, and only some compilers, by their options, know trigraphs.
			doubtful = doubtful || bytes.HasPrefix(src[i:], []byte("??/")) || bytes.HasPrefix(src[i:], []byte("??'"))
			text = append(text, c)
		}
	}
	return append(text, '\n'), doubtful
}

// isPlain says whether there is nothing unusual in src, so that it need not be copied.
func isPlain(src []byte) bool {
	for _, c := range src {
		if unusual[c] {
			return false
		}
	}
	return true
}

// unusual are the characters that logical looks at.
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
