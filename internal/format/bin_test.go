package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

func testRecipe(t testing.TB) *key.Recipe {
	t.Helper()
	img, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}\x00"), key.Header{Name: "h.h", Content: []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	consts, err := key.NewConstants(key.Uint32(7, 8))
	if err != nil {
		t.Fatal(err)
	}
	return &key.Recipe{
		Device: key.Device{
			API: "opencl", Platform: "P", Name: "N", Version: "V", Driver: "D",
			Traits: []key.Pair{{Name: "t", Value: "1"}},
		},
		Image: img, Constants: consts, Options: key.NewOptions("-DN=4 -O2", "-l"),
	}
}

func testArtifact() *store.Artifact {
	return &store.Artifact{
		Binaries: []store.Binary{
			{Form: store.FormDeferred, Data: []byte("code\x00")}, {Form: store.FormIntermediate, Data: []byte{0}},
		},
		Log: "warning\x00", Cost: time.Second, Created: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC),
		Variants: []string{"8", "8,8"},
		Kernels: []store.Kernel{
			{Name: "a", Attributes: "x", Args: []store.Arg{{Name: "p", TypeName: "float*", Address: 1, Access: 2, TypeQual: math.MaxUint64}}},
			{Name: "b"},
		},
	}
}

func encode(t testing.TB, k key.Key, a *store.Artifact) []byte {
	t.Helper()
	bin, err := EncodeBin(k, a)
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.Join(bin.Parts, nil)
	if int64(len(b)) != bin.Size {
		t.Fatalf("size %d, %d bytes", bin.Size, len(b))
	}
	return b
}

func TestBinRoundTrip(t *testing.T) {
	t.Parallel()
	k := testRecipe(t).Key()
	bare := &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte{0}}}}
	for name, a := range map[string]*store.Artifact{"full": testArtifact(), "bare": bare} {
		h, got, err := DecodeBin(encode(t, k, a))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(a, got); d != "" {
			t.Errorf("%s: artifact (-want +got):\n%s", name, d)
		}
		if h.Key != k {
			t.Errorf("%s: another key", name)
		}
	}
}

// TestBinEveryByteIsChecked: no byte can change, go or come without notice.
func TestBinEveryByteIsChecked(t *testing.T) {
	t.Parallel()
	whole := encode(t, testRecipe(t).Key(), testArtifact())
	for i := range whole {
		for _, flip := range []byte{1, 0x80, 0xff} {
			b := bytes.Clone(whole)
			b[i] ^= flip
			if _, _, err := DecodeBin(b); err == nil {
				t.Errorf("byte %d changed by %#x: accepted", i, flip)
			}
		}
		if _, _, err := DecodeBin(whole[:i]); !errors.Is(err, ErrTruncated) {
			t.Errorf("cut to %d bytes: %v, want ErrTruncated", i, err)
		}
	}
	if _, _, err := DecodeBin(append(bytes.Clone(whole), 0)); !errors.Is(err, ErrTruncated) {
		t.Errorf("a byte more: %v, want ErrTruncated", err)
	}
}

// TestVerifyBin: code that was changed together with the digest that is checked at each load is
// found by the other one.
func TestVerifyBin(t *testing.T) {
	t.Parallel()
	whole := encode(t, testRecipe(t).Key(), testArtifact())
	if _, _, err := VerifyBin(whole); err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(whole)
	b[len(b)-1] ^= 1 // the second binary's only byte
	binary.LittleEndian.PutUint64(b[FixedBytes+binaryBytes+16:], sumOf(b[len(b)-1:]))
	h, err := ParseFixed(b, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	header := sha256.Sum256(b[:h.HeaderBytes-digestBytes])
	copy(b[h.HeaderBytes-digestBytes:], header[:])
	if _, _, err := DecodeBin(b); err != nil {
		t.Errorf("decode: %v", err)
	}
	if _, _, err := VerifyBin(b); !errors.Is(err, ErrDigest) {
		t.Errorf("verify: %v, want ErrDigest", err)
	}
}

// TestFirstOfBin: the first binary is read and checked without those behind it, which need not
// be what they were.
func TestFirstOfBin(t *testing.T) {
	t.Parallel()
	whole := encode(t, testRecipe(t).Key(), testArtifact())
	h, err := ParseHeader(whole, int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	payload := whole[h.HeaderBytes:]
	if n := h.FirstBytes(); n != int64(len("warning\x00"+"code\x00")) || int64(len(payload)) != n+1 {
		t.Fatalf("the first binary ends at %d of %d", n, len(payload))
	}
	first := payload[:h.FirstBytes()]
	want := testArtifact()
	want.Binaries, want.Rest = want.Binaries[:1], []store.Unread{{Form: store.FormIntermediate, Size: 1}}
	got, err := h.Artifact(first, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("artifact (-want +got):\n%s", d)
	}
	if _, err := EncodeBin(h.Key, got); !errors.Is(err, ErrEncode) {
		t.Errorf("encoded without its rest: %v, want ErrEncode", err)
	}
	for i := range first {
		b := bytes.Clone(first)
		b[i] ^= 1
		if _, err := h.Artifact(b, 1); !errors.Is(err, ErrDigest) {
			t.Errorf("byte %d changed: %v, want ErrDigest", i, err)
		}
	}
}

// TestListsAreStrict: also where digests are right, a changed list is refused,
// or is the one encoding of another artifact.
func TestListsAreStrict(t *testing.T) {
	t.Parallel()
	whole := encode(t, testRecipe(t).Key(), testArtifact())
	refused := 0
	for i := range whole {
		for _, flip := range []byte{1, 2, 4, 0x80, 0xff} {
			b := bytes.Clone(whole)
			b[i] ^= flip
			reseal(b)
			h, a, err := VerifyBin(b)
			if err != nil {
				refused++
				continue
			}
			if !bytes.Equal(encode(t, h.Key, a), b) {
				t.Errorf("byte %d changed by %#x: another encoding of the same artifact", i, flip)
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d changes are refused", refused)
	}
}

func TestBinReasons(t *testing.T) {
	t.Parallel()
	whole := encode(t, testRecipe(t).Key(), testArtifact())
	for name, test := range map[string]struct {
		change func([]byte) []byte
		want   error
	}{
		"zeros":       {func(b []byte) []byte { clear(b); return b }, ErrForeign},
		"text":        {func([]byte) []byte { return []byte("ELF") }, ErrForeign},
		"old version": {func(b []byte) []byte { b[8] = 1; return b }, ErrVersion},
		"new version": {func(b []byte) []byte { b[8] = 9; return b[:16] }, ErrVersion},
		"log":         {func(b []byte) []byte { b[len(b)-9]++; return b }, ErrDigest},
		"code":        {func(b []byte) []byte { b[len(b)-1]++; return b }, ErrDigest},
		"key":         {func(b []byte) []byte { b[20]++; return b }, ErrDigest},
		"reserved":    {func(b []byte) []byte { b[250] = 1; return b }, ErrMalformed},
	} {
		if _, _, err := DecodeBin(test.change(bytes.Clone(whole))); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestHugeLengthsAllocateNothing: lengths are not believed.
func TestHugeLengthsAllocateNothing(t *testing.T) {
	whole := encode(t, testRecipe(t).Key(), testArtifact())
	for at := 192; at < 248; at++ {
		if at >= 200 && at < 232 {
			continue // the digest
		}
		b := bytes.Clone(whole)
		b[at] = 0xff
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := DecodeBin(b)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; err == nil || n > 1<<20 {
			t.Errorf("byte %d: %d bytes allocated, error %v", at, n, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	code := []store.Binary{{Form: store.FormFinal, Data: []byte{1}}}
	for name, a := range map[string]*store.Artifact{
		"no code":      {},
		"empty code":   {Binaries: []store.Binary{{Form: store.FormFinal}}},
		"no form":      {Binaries: []store.Binary{{Data: []byte{1}}}},
		"unsorted":     {Binaries: code, Variants: []string{"b", "a"}},
		"twice":        {Binaries: code, Variants: []string{"a", "a"}},
		"unknown form": {Binaries: []store.Binary{{Form: 4, Data: []byte{1}}}},
	} {
		if _, err := EncodeBin(key.Key{}, a); !errors.Is(err, ErrEncode) {
			t.Errorf("%s: %v, want ErrEncode", name, err)
		}
	}
}

func TestTimesThatDoNotFit(t *testing.T) {
	t.Parallel()
	a := testArtifact()
	a.Created, a.Cost = time.Date(1200, 1, 1, 0, 0, 0, 0, time.UTC), -time.Second
	_, got, err := DecodeBin(encode(t, key.Key{}, a))
	if err != nil || !got.Created.IsZero() || got.Cost != 0 {
		t.Errorf("created %v, cost %v, error %v; want neither known", got.Created, got.Cost, err)
	}
}

func TestSrcRoundTrip(t *testing.T) {
	t.Parallel()
	rec := testRecipe(t)
	whole, err := EncodeSrc(rec)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeSrc(whole)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rec, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(key.Image{})); d != "" || got.Key() != rec.Key() {
		t.Errorf("recipe (-want +got):\n%s", d)
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		if _, err := DecodeSrc(b); err == nil {
			t.Errorf("byte %d changed: accepted", i)
		}
		if _, err := DecodeSrc(whole[:i]); !errors.Is(err, ErrTruncated) {
			t.Errorf("cut to %d bytes: %v, want ErrTruncated", i, err)
		}
	}
}
