package levelzero

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/key"
)

// An image of several modules holds them in an order of its own, so that equal sets are equal
// images. The driver lists kernels in the order in which it was given their modules, which an
// application may go by: another order than the image's is an attribute.

const attrOrder = "module order"

// Order returns the attribute of a request that says in which order the modules of an
// image are linked: that of codes, which are all of them. It is nil for the image's own.
func Order(image *key.Image, codes [][]byte) []key.Pair {
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
		return nil
	}
	words := make([]string, len(order))
	for i, n := range order {
		words[i] = strconv.Itoa(n)
	}
	return []key.Pair{{Name: attrOrder, Value: strings.Join(words, ",")}}
}

// orderOf returns the order of n modules. It is the only attribute that there is, and
// there are no link options.
func orderOf(o key.BuildOptions, n int) ([]int, error) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	switch {
	case len(o.Link) > 0:
		return nil, fmt.Errorf("%w: link options %q: Level Zero has none", ErrArgument, o.Link)
	case len(o.Attributes) == 0:
		return order, nil
	}
	text, ok := key.Attribute(o.Attributes, attrOrder)
	words := strings.Split(text, ",")
	if !ok || len(o.Attributes) > 1 || len(words) != n {
		return nil, fmt.Errorf("%w: attributes %q of %d modules", ErrArgument, o.Attributes, n)
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
