package levelzero

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/key"
)

// An image of several modules holds them in an order of its own, so that equal sets are
// equal images. The driver lists kernels in the order in which it was given their
// modules, which an application may go by: another order than the image's is a link
// option.

const orderPrefix = "-ze-module-order="

// OrderOption returns the link option that says in which order the modules of an image
// are linked: that of codes, which are all of them. It is "" for the image's own.
func OrderOption(image *key.Image, codes [][]byte) string {
	units := image.Units()
	used := make([]bool, len(units))
	order := make([]int, 0, len(codes))
	for _, code := range codes {
		for i := range units {
			if !used[i] && bytes.Equal(units[i].Code, code) {
				used[i] = true
				order = append(order, i)
				break
			}
		}
	}
	if slices.IsSorted(order) {
		return ""
	}
	words := make([]string, len(order))
	for i, n := range order {
		words[i] = strconv.Itoa(n)
	}
	return orderPrefix + strings.Join(words, ",")
}

// orderOf returns the order that link options say of n modules; it is the only option
// that there is.
func orderOf(options []string, n int) ([]int, error) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if len(options) == 0 {
		return order, nil
	}
	text, ok := strings.CutPrefix(options[0], orderPrefix)
	words := strings.Split(text, ",")
	if !ok || len(options) > 1 || len(words) != n {
		return nil, fmt.Errorf("%w: link options %q: Level Zero has none", ErrArgument, options)
	}
	seen := make([]bool, n)
	for i, w := range words {
		at, err := strconv.Atoi(w)
		if err != nil || at < 0 || at >= n || seen[at] {
			return nil, fmt.Errorf("%w: order %q of %d modules", ErrArgument, text, n)
		}
		order[i], seen[at] = at, true
	}
	return order, nil
}
