package kernelarg

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	type pair struct {
		A int16
		_ [2]byte
		B float32
	}
	for name, c := range map[string]struct {
		arg  any
		want []byte
	}{
		"int8":      {int8(-2), []byte{0xfe}},
		"int32":     {int32(-2), []byte{0xfe, 0xff, 0xff, 0xff}},
		"uint32":    {uint32(0x01020304), []byte{4, 3, 2, 1}},
		"float32":   {float32(1), []byte{0, 0, 0x80, 0x3f}},
		"int64":     {int64(-1), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		"uint64":    {uint64(1) << 40, []byte{0, 0, 0, 0, 0, 1, 0, 0}},
		"float64":   {math.Inf(1), []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f}},
		"bytes":     {[]byte{9, 8}, []byte{9, 8}},
		"array":     {[3]uint16{1, 2, 3}, []byte{1, 0, 2, 0, 3, 0}},
		"structure": {pair{A: 1, B: 1}, []byte{1, 0, 0, 0, 0, 0, 0x80, 0x3f}},
		"bool":      {true, []byte{1}},
	} {
		got, err := Append([]byte{7}, c.arg, nil, "")
		if diff := cmp.Diff(append([]byte{7}, c.want...), got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got := Pointer(nil, 0x0102); !cmp.Equal(got, []byte{2, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("pointer: %v", got)
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	x := int32(1)
	for name, arg := range map[string]any{
		"nothing": nil, "int": 1, "uint": uint(1), "string": "x", "slice": []int32{1}, "pointer": &x, "map": map[int32]int32{},
		"structure with an int": struct{ A int }{1},
	} {
		b, err := Append([]byte{7}, arg, refused, "or *Buffer")
		if !errors.Is(err, refused) || !strings.HasSuffix(err.Error(), "or *Buffer") || len(b) != 1 {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
}
