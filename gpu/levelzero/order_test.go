package levelzero

import (
	"errors"
	"slices"
	"testing"

	"github.com/kernstash/kernstash/key"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	a, b, c := []byte("one"), []byte("two"), []byte("three")
	image, err := key.NewImageSet(key.Unit{Kind: key.SPIRV, Code: a}, key.Unit{Kind: key.SPIRV, Code: b},
		key.Unit{Kind: key.SPIRV, Code: c}, key.Unit{Kind: key.SPIRV, Code: b})
	if err != nil {
		t.Fatal(err)
	}
	var own [][]byte
	for _, u := range image.Units() {
		own = append(own, u.Code)
	}
	if o := OrderOption(image, own); o != "" {
		t.Errorf("the image's own order is %q", o)
	}
	for _, codes := range [][][]byte{{a, b, c, b}, {b, b, a, c}, {c, b, b, a}, {c, b, a, b}} {
		option := OrderOption(image, codes)
		var words []string
		if option != "" {
			words = []string{option}
		}
		order, err := orderOf(words, 4)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]byte
		for _, i := range order {
			got = append(got, own[i])
		}
		if !slices.EqualFunc(got, codes, slices.Equal) {
			t.Errorf("%q: %q, want %q", option, got, codes)
		}
	}
}

func TestOrderThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for _, options := range [][]string{
		{"-ze-module-order=0"}, {"-ze-module-order=0,0"}, {"-ze-module-order=0,2"}, {"-ze-module-order=0,x"}, {"-ze-module-order=0,1", "-ze-module-order=1,0"}, {"-g"},
	} {
		if _, err := orderOf(options, 2); !errors.Is(err, ErrArgument) {
			t.Errorf("%q: %v", options, err)
		}
	}
}
