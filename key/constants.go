package key

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// SpecConstant is the value of one specialization constant, as the bytes that
// the driver takes (little-endian, at the size of the constant's type).
type SpecConstant struct {
	ID    uint32 `json:"id"`
	Value []byte `json:"value"`
}

// Uint32 returns the constant id with a 32-bit unsigned value.
func Uint32(id, v uint32) SpecConstant {
	return SpecConstant{id, binary.LittleEndian.AppendUint32(nil, v)}
}

// Uint64 returns the constant id with a 64-bit unsigned value.
func Uint64(id uint32, v uint64) SpecConstant {
	return SpecConstant{id, binary.LittleEndian.AppendUint64(nil, v)}
}

// Float32 returns the constant id with a 32-bit floating point value.
func Float32(id uint32, v float32) SpecConstant { return Uint32(id, math.Float32bits(v)) }

// Float64 returns the constant id with a 64-bit floating point value.
func Float64(id uint32, v float64) SpecConstant { return Uint64(id, math.Float64bits(v)) }

// Bool returns the constant id with a boolean value, one byte.
func Bool(id uint32, v bool) SpecConstant {
	if v {
		return SpecConstant{id, []byte{1}}
	}
	return SpecConstant{id, []byte{0}}
}

// ErrDuplicate is wrapped when one id or name is given twice.
var ErrDuplicate = errors.New("given twice")

// Constants are the specialization constants of a build, sorted by id, each id
// once. Make them with [NewConstants].
type Constants []SpecConstant

// NewConstants returns c sorted and copied. An id that is given twice is an
// error that wraps [ErrDuplicate].
func NewConstants(c ...SpecConstant) (Constants, error) {
	if len(c) == 0 {
		return nil, nil
	}
	out := make(Constants, len(c))
	for i, v := range c {
		out[i] = SpecConstant{v.ID, bytes.Clone(v.Value)}
	}
	slices.SortFunc(out, func(a, b SpecConstant) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(out); i++ {
		if out[i-1].ID == out[i].ID {
			return nil, fmt.Errorf("specialization constant %d: %w", out[i].ID, ErrDuplicate)
		}
	}
	return out, nil
}

// Digest returns the constants component of a key.
func (c Constants) Digest() Digest {
	if len(c) == 0 {
		return noConstants()
	}
	return c.sum()
}

// noConstants is the digest of none, which most requests have.
var noConstants = sync.OnceValue(func() Digest { return Constants(nil).sum() })

func (c Constants) sum() Digest {
	to := newCoder(tagConstants)
	to.constants(&c)
	return sha256.Sum256(to.b)
}

func (c *coder) constants(all *Constants) {
	ascending := func(a, b *SpecConstant) bool { return a.ID < b.ID }
	list(c, (*[]SpecConstant)(all), 2*prefixBytes, ascending, func(c *coder, v *SpecConstant) {
		number(c, &v.ID, math.MaxUint32)
		c.bytes(&v.Value)
	})
}
