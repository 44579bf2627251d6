package spirv_test

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/levelzero/internal/spirv"
)

func TestConstantsOfScale(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("../../../opencl/testdata/scale.spv")
	if err != nil {
		t.Fatal(err)
	}
	// scale.spvasm: a 32-bit integer 7, and a boolean 9.
	want := &spirv.Module{Constants: map[uint32]int{7: 4, 9: 1}}
	for _, swapped := range []bool{false, true} {
		if swapped {
			for i := 0; i+4 <= len(code); i += 4 {
				binary.BigEndian.PutUint32(code[i:], binary.LittleEndian.Uint32(code[i:]))
			}
		}
		got, err := spirv.Read(code)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("swapped %v: %s", swapped, diff)
		}
	}
}

// words makes a module of words.
func words(w ...uint32) (b []byte) {
	for _, n := range append([]uint32{0x07230203, 0x10000, 0, 100, 0}, w...) {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		code []byte
		want *spirv.Module
		err  error
	}{
		{"nothing", nil, nil, spirv.ErrFormat},
		{"no magic", make([]byte, 64), nil, spirv.ErrFormat},
		{"header alone", words(), &spirv.Module{}, nil},
		{"an instruction of no words", words(0), nil, spirv.ErrFormat},
		{"an instruction beyond the end", words(9<<16 | 25), nil, spirv.ErrFormat},
		{"an image", words(9<<16|25, 1, 2, 1, 0, 0, 0, 0, 0), &spirv.Module{Images: true}, nil},
		{"an image behind a function", words(5<<16|54, 1, 2, 3, 4, 9<<16|25, 1, 2, 1, 0, 0, 0, 0, 0), &spirv.Module{}, nil},
		{
			"a constant of 64 bits", words(4<<16|71, 5, 1, 3, 3<<16|22, 4, 64, 5<<16|50, 4, 5, 0, 0),
			&spirv.Module{Constants: map[uint32]int{3: 8}}, nil,
		},
		{ // reading half a gigabyte where four bytes are would end the application
			"a constant of a size that none has", words(4<<16|71, 5, 1, 3, 4<<16|21, 4, 0xfffffff8, 0, 4<<16|50, 4, 5, 0),
			&spirv.Module{Constants: map[uint32]int{}}, nil,
		},
		{
			"constants of one id and two sizes",
			words(4<<16|71, 5, 1, 3, 4<<16|71, 7, 1, 3, 3<<16|22, 4, 64, 3<<16|22, 6, 32, 5<<16|50, 4, 5, 0, 0, 4<<16|50, 6, 7, 0),
			&spirv.Module{Constants: map[uint32]int{}}, nil,
		},
		{
			"constants of one id and one size",
			words(4<<16|71, 5, 1, 3, 4<<16|71, 7, 1, 3, 3<<16|22, 6, 32, 4<<16|50, 6, 5, 0, 4<<16|50, 6, 7, 0),
			&spirv.Module{Constants: map[uint32]int{3: 4}}, nil,
		},
		{"a constant without an id", words(3<<16|22, 4, 64, 5<<16|50, 4, 5, 0, 0), &spirv.Module{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := spirv.Read(c.code)
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(words(4<<16|71, 5, 1, 3))
	f.Fuzz(func(_ *testing.T, code []byte) { _, _ = spirv.Read(code) })
}
