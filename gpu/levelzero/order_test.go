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
	if o := Order(image, own); o != nil {
		t.Errorf("the image's own order is %q", o)
	}
	for _, codes := range [][][]byte{{a, b, c, b}, {b, b, a, c}, {c, b, b, a}, {c, b, a, b}} {
		attributes := Order(image, codes)
		order, err := orderOf(key.BuildOptions{Attributes: attributes}, 4)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]byte
		for _, i := range order {
			got = append(got, own[i])
		}
		if !slices.EqualFunc(got, codes, slices.Equal) {
			t.Errorf("%q: %q, want %q", attributes, got, codes)
		}
	}
}

func TestOrderThatMakesNoSense(t *testing.T) {
	t.Parallel()
	order := func(values ...string) (o key.BuildOptions) {
		for _, v := range values {
			o.Attributes = append(o.Attributes, key.Pair{Name: attrOrder, Value: v})
		}
		return o
	}
	for _, o := range []key.BuildOptions{
		order("0"), order("0,0"), order("0,2"), order("0,x"), order("0,1", "1,0"), order(""),
		{Attributes: []key.Pair{{Name: "order", Value: "1,0"}}},
		{Link: []string{"-g"}},
		{Link: []string{"module order=1,0"}},
	} {
		if _, err := orderOf(o, 2); !errors.Is(err, ErrArgument) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
