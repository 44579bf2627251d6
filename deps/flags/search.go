package flags

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/names"
)

// rank is how a directory came to be searched.
type rank uint8

// The ranks, in the order of the search. The first is for #include "…" alone.
const (
	QuotedDirs rank = iota + 1
	AngledDirs
	SystemDirs
	AfterDirs
)

// A Dir is a directory to search, as it is named.
type Dir struct {
	Rank rank
	Path string
}

// searchOptions are the options that name a directory, which may be the next word.
var searchOptions = []struct {
	name   string
	rank   rank
	joined string // what stands between name and directory, in one word
}{
	{"-I", AngledDirs, ""},
	{"-isystem", SystemDirs, ""},
	{"-iquote", QuotedDirs, ""},
	{"-idirafter", AfterDirs, ""},
	{"--include-path", AngledDirs, "="},
}

// SplitSearch splits the words of compile options: search are those that only
// name a directory to search for headers, with the words that are their
// arguments, and rest are all others, both in their order. A word that may
// mean anything else is among the rest.
func SplitSearch(words []string) (rest, search []string) {
	rest, search, _, _ = ParseSearch(words)
	return rest, search
}

// Directories returns the directories to search for headers that the words of compile
// options name; sure is false where a word may name one and nobody knows which.
func Directories(words []string) (dirs []string, sure bool) {
	rest, _, named, doubt := ParseSearch(words)
	for _, d := range named {
		dirs = append(dirs, d.Path)
	}
	return dirs, doubt == "" && !slices.ContainsFunc(rest, namesDirectory)
}

// ParseSearch is SplitSearch that also returns the directories, and the word that compilers may
// read differently: "" for none.
func ParseSearch(words []string) (rest, search []string, dirs []Dir, doubt string) {
	unsettled := ""
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !settled(w) && unsettled == "" {
			unsettled = w
		}
		rank, dir, n := searchWord(words[i:])
		switch {
		case n == 0 && !namesDirectory(w):
			rest = append(rest, w)
			continue
		case n == 0, i > 0 && takesArgument(words[i-1]) && len(rest) > 0 && rest[len(rest)-1] == words[i-1]:
			doubt = w
			rest = append(rest, w)
			continue
		}
		search = append(search, words[i:i+n]...)
		dirs = append(dirs, Dir{rank, dir})
		i += n - 1
	}
	if doubt == "" && len(dirs) > 0 {
		doubt = unsettled
	}
	return rest, search, dirs, doubt
}

// searchWord reads the directory that the first of words names, together with
// the second if need be; n is how many words it takes, 0 if it is not clear
// that it names one.
func searchWord(words []string) (r rank, dir string, n int) {
	for _, o := range searchOptions {
		rest, ok := strings.CutPrefix(words[0], o.name)
		switch {
		case !ok:
			continue
		case rest != "":
			if rest, ok = strings.CutPrefix(rest, o.joined); !ok {
				return 0, "", 0
			}
			dir, n = rest, 1
		case len(words) > 1:
			dir, n = words[1], 2
		}
		if !plainDirectory(dir) {
			return 0, "", 0
		}
		return o.rank, dir, n
	}
	return 0, "", 0
}

// plainDirectory reports whether all compilers take the word for the same
// directory: "=" at the front may stand for a root, "-" may be an option, and
// quotes and backslashes are left in or not.
func plainDirectory(dir string) bool {
	return dir != "" && !strings.ContainsAny(dir[:1], "=-@") && !strings.ContainsAny(dir, "\"'\\,;$*?~%#") &&
		!strings.ContainsFunc(dir, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// namesDirectory reports whether some driver may find an option in w that names a directory.
func namesDirectory(w string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(Unquoted(w), isSpace),
		func(piece string) bool { return names.HasAnyPrefix(piece, readsDir) })
}

// takesArgument reports whether the word behind w may belong to w.
func takesArgument(w string) bool {
	return takesNext(w) || slices.Contains(defines, w) || w == "--undefine-macro" ||
		w == "-maxrregcount" || w == "--maxrregcount" || w == "-opt-level" || w == "-march" || w == "-mcpu"
}
