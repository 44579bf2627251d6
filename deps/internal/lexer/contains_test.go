package lexer

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestContainsIsBytesContains(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 11))
	word := func(n int) []byte {
		b := make([]byte, random.IntN(n))
		for i := range b {
			b[i] = "_aAb"[random.IntN(4)]
		}
		return b
	}
	for range 200_000 {
		text, name := word(20), word(5)
		if got, want := Contains(text, string(name)), bytes.Contains(text, name); got != want {
			t.Fatalf("%q in %q: %v", name, text, got)
		}
	}
}
