// Package leak looks for texts that tell of the machine that a file was made on: paths, and names.
package leak

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/pattern"
)

// places are paths of two parts or more; system says which of them every machine has.
var (
	places = pattern.Lazy(`/[A-Za-z0-9._+-]{2,}(?:/[A-Za-z0-9._+-]+)+`)
	system = []string{"/usr/", "/lib/", "/lib64/", "/bin/", "/etc/", "/proc/", "/sys/", "/dev/"}
)

// longest is the longest text that is found for sure.
const longest = 4096

// Search calls found with each path in r, but for those of the system, and each of the names, as of users and
// hosts; with some of them more than once. It reads in windows that overlap. Text that is compressed
// or encoded is not found.
func Search(r io.Reader, names []string, found func(text string)) error {
	window := make([]byte, 0, 1<<20)
	for {
		n, err := io.ReadFull(r, window[len(window):cap(window)])
		window = window[:len(window)+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		text := string(window)
		for _, at := range places().FindAllStringIndex(text, -1) {
			of := func(prefix string) bool { return strings.HasPrefix(text[at[0]:at[1]], prefix) }
			// What reaches the end is whole in the next window.
			if (last || at[1] < len(text)) && !slices.ContainsFunc(system, of) {
				found(text[at[0]:at[1]])
			}
		}
		for _, name := range names {
			if name != "" && strings.Contains(text, name) {
				found(name)
			}
		}
		if last {
			return nil
		}
		window = append(window[:0], window[max(0, len(window)-longest):]...)
	}
}
