package remote_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

// binOf returns the .bin of an entry.
func binOf(t *testing.T, e *store.Entry) []byte {
	t.Helper()
	b, err := format.EncodeBin(e.Key, e.Artifact)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join(b.Parts, nil)
}

// sealedBy returns an entry with a seal.
func sealedBy(t *testing.T, k ed25519.PrivateKey, tenant, name string) *store.Entry {
	t.Helper()
	e := storetest.New(t, name, 3000)
	if err := remote.New(nil, remote.Options{Tenant: tenant, Sign: k}).Seal(e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestVet: what a seal vouches for, and what it does not.
func TestVet(t *testing.T) {
	t.Parallel()
	ours, theirs := generate(t), generate(t)
	s := remote.New(nil, remote.Options{Tenant: "a", Trust: trust.Of(public(ours))})
	e, other := sealedBy(t, ours, "a", "one"), sealedBy(t, ours, "a", "two")
	head, bin := e.Seal.Head, binOf(t, e)
	changed := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 1
		return b
	}
	signedBy := func(k ed25519.PrivateKey) []byte { // a signature of one key under the name of another
		b := bytes.Clone(head)
		copy(b[len(b)-96:], public(k))
		return b
	}
	unsigned := append(bytes.Clone(head[:len(head)-100]), 0, 0, 0, 0)
	manifest := func() []byte {
		m := new(remotetest.Memory)
		if err := remote.New(m, remote.Options{Tenant: "a", Sign: ours}).PutBlob(t.Context(), store.Manifests, e.Key.Sum, nil); err != nil {
			t.Fatal(err)
		}
		b := m.Object(m.Names()[0])
		return b[:binary.LittleEndian.Uint32(b[12:])+100]
	}()
	for what, tt := range map[string]struct {
		head, bin []byte
		good      bool
	}{
		"its own":                        {head, bin, true},
		"none":                           {nil, bin, false},
		"one without a signature":        {unsigned, bin, false},
		"that of another entry":          {other.Seal.Head, bin, false},
		"of the other's .bin, too":       {other.Seal.Head, binOf(t, other), false},
		"another .bin":                   {head, binOf(t, other), false},
		"a .bin of which a byte changed": {head, changed(bin, len(bin)-1), false},
		"a .bin that is cut":             {head, bin[:len(bin)-1], false},
		"a .bin that goes on":            {head, append(bytes.Clone(bin), 0), false},
		"of a stranger":                  {sealedBy(t, theirs, "a", "one").Seal.Head, bin, false},
		"of a stranger, as if of ours":   {signedBy(theirs), bin, false},
		"with a wrong signature":         {changed(head, len(head)-1), bin, false},
		"of another tenant":              {sealedBy(t, ours, "b", "one").Seal.Head, bin, false},
		"of a manifest":                  {manifest, bin, false},
		"cut":                            {head[:len(head)-1], bin, false},
		"cut in the head":                {head[:40], bin, false},
		"with a byte more":               {append(bytes.Clone(head), 0), bin, false},
		"with the payload":               {append(bytes.Clone(head), e.Seal.Payload...), bin, false},
		"text":                           {bytes.Repeat([]byte("kstobj\r\n"), 1000), bin, false},
	} {
		for range 2 { // the second time a signature is known
			if err := s.Vet(e.Key, tt.head, bytes.NewReader(tt.bin)); (err == nil) != tt.good || err != nil && !errors.Is(err, trust.ErrUntrusted) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	for i := range head {
		if err := s.Vet(e.Key, changed(head, i), bytes.NewReader(bin)); err == nil {
			t.Errorf("byte %d of the seal changed: it counts", i)
		}
	}
	if err := remote.New(nil, remote.Options{}).Vet(e.Key, nil, nil); err != nil {
		t.Errorf("where signatures are not asked for: %v", err)
	}
}

// TestVetForgets: a key that is revoked does not count any more for what it has vouched for before.
func TestVetForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := generate(t)
		e := sealedBy(t, k, "a", "one")
		dir := filepath.Join(t.TempDir(), "trust")
		if _, err := trust.Add(dir, public(k)); err != nil {
			t.Fatal(err)
		}
		s := remote.New(nil, remote.Options{Tenant: "a", Trust: trust.Open(dir, true)})
		vet := func() error { return s.Vet(e.Key, e.Seal.Head, bytes.NewReader(binOf(t, e))) }
		if err := vet(); err != nil {
			t.Fatal(err)
		}
		if _, err := trust.Revoke(dir, trust.Fingerprint(public(k))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // the list is read again
		if err := vet(); !errors.Is(err, trust.ErrUntrusted) {
			t.Errorf("%v", err)
		}
	})
}

// TestSealsTravel: an entry is put as the object that it came as, without a key; what came under a key that is not
// trusted is not signed anew.
func TestSealsTravel(t *testing.T) {
	t.Parallel()
	builder, mine := generate(t), generate(t)
	far := new(remotetest.Memory)
	w := remote.New(far, remote.Options{Tenant: "a", Sign: builder, Builder: "ci"})
	e := storetest.New(t, "one", 3000)
	if _, err := w.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	got, err := remote.New(far, remote.Options{Tenant: "a"}).Fetch(t.Context(), e.Key)
	if err != nil || got.Seal == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if plain, err := w.Get(t.Context(), e.Key); err != nil || plain.Seal != nil {
		t.Errorf("Get keeps the object in memory: %v", err)
	}
	whole := far.Object(w.Name(e.Key))
	headOnly := *got
	headOnly.Seal = &store.Seal{Head: got.Seal.Head}
	for what, tt := range map[string]struct {
		e      *store.Entry
		tenant string
		by     ed25519.PrivateKey
		trust  *trust.List
		want   string // same: the object; signed: by mine; error
	}{
		"no key, no list":               {got, "a", nil, nil, "same"},
		"a key of its own":              {got, "a", mine, trust.Of(public(builder), public(mine)), "same"},
		"a list without the builder":    {got, "a", mine, trust.Of(public(mine)), "error"},
		"another tenant":                {got, "b", mine, trust.Of(public(builder), public(mine)), "signed"},
		"the head alone":                {&headOnly, "a", mine, trust.Of(public(builder), public(mine)), "signed"},
		"the head, without the builder": {&headOnly, "a", mine, trust.Of(public(mine)), "error"},
		"the payload of something else": {&store.Entry{Key: got.Key, Recipe: got.Recipe, Artifact: got.Artifact, Seal: &store.Seal{Head: []byte("x"), Payload: []byte("y")}}, "a", mine, nil, "error"},
		"another entry with the same seal": {func() *store.Entry {
			o := storetest.New(t, "two", 3000)
			o.Seal = got.Seal
			return o
		}(), "a", mine, nil, "signed"},
	} {
		m := new(remotetest.Memory)
		s := remote.New(m, remote.Options{Tenant: tt.tenant, Sign: tt.by, Trust: tt.trust})
		res, err := s.Put(t.Context(), tt.e)
		switch b := m.Object(s.Name(tt.e.Key)); {
		case tt.want == "error" && (err == nil || b != nil):
			t.Errorf("%s: %v, it is put", what, res)
		case tt.want == "error":
		case err != nil, (tt.want == "same") != bytes.Equal(b, whole):
			t.Errorf("%s: %v, want %s", what, err, tt.want)
		case tt.want == "signed" && !bytes.Contains(b, public(mine)):
			t.Errorf("%s: it is not signed anew", what)
		}
	}
}

// TestSeal: a seal is what Put would sign, and an entry keeps the one that it has.
func TestSeal(t *testing.T) {
	t.Parallel()
	mine, list := generate(t), trust.Of(public(generate(t)))
	e := sealedBy(t, mine, "a", "one")
	if k, err := remote.Signer(e.Seal.Head); err != nil || !k.Equal(public(mine)) {
		t.Errorf("signed by %v, %v", k, err)
	}
	bad := bytes.Clone(e.Seal.Head)
	bad[len(bad)-1] ^= 1
	for what, head := range map[string][]byte{"nothing": nil, "text": []byte("x"), "a wrong signature": bad} {
		if _, err := remote.Signer(head); err == nil {
			t.Errorf("%s has a signer", what)
		}
	}
	before := e.Seal
	if err := remote.New(nil, remote.Options{Tenant: "a", Sign: generate(t)}).Seal(e); err != nil || e.Seal != before {
		t.Errorf("it is signed anew: %v", err)
	}
	for what, tt := range map[string]struct {
		o           remote.Options
		asks, signs bool
	}{
		"nothing":               {remote.Options{}, false, false},
		"a key":                 {remote.Options{Sign: mine}, false, true},
		"a list":                {remote.Options{Trust: list}, true, false},
		"a key of another list": {remote.Options{Sign: mine, Trust: list}, true, false},
		"a key of the list":     {remote.Options{Sign: mine, Trust: trust.Of(public(mine))}, true, true},
	} {
		s := remote.New(nil, tt.o)
		if s.Asks() != tt.asks || s.Signs() != tt.signs {
			t.Errorf("%s: asks %v, signs %v", what, s.Asks(), s.Signs())
		}
		if err := s.Seal(storetest.New(t, "two", 10)); (err == nil) != (tt.o.Sign != nil) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestVetBlob: a seal of a manifest vouches for that manifest alone, and is what a remote has of it.
func TestVetBlob(t *testing.T) {
	t.Parallel()
	mine := generate(t)
	m := new(remotetest.Memory)
	s := remote.New(m, remote.Options{Tenant: "a", Sign: mine, Trust: trust.Of(public(mine))})
	name, other, content := key.Digest{1}, key.Digest{2}, []byte("a manifest")
	if err := s.PutBlob(t.Context(), store.Manifests, name, content); err != nil {
		t.Fatal(err)
	}
	got, seal, err := s.FetchBlob(t.Context(), store.Manifests, name)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%q, %v", got, err)
	}
	own, err := s.SealBlob(name, content)
	if err != nil {
		t.Fatal(err)
	}
	stranger := remote.New(nil, remote.Options{Tenant: "a", Sign: generate(t)})
	theirs, err := stranger.SealBlob(name, content)
	if err != nil {
		t.Fatal(err)
	}
	entry := sealedBy(t, mine, "a", "one")
	for what, tt := range map[string]struct {
		name    key.Digest
		seal    []byte
		content string
		good    bool
	}{
		"of the remote":   {name, seal, "a manifest", true},
		"its own":         {name, own, "a manifest", true},
		"none":            {name, nil, "a manifest", false},
		"another name":    {other, seal, "a manifest", false},
		"another content": {name, seal, "a manifesT", false},
		"a stranger's":    {name, theirs, "a manifest", false},
		"an entry's":      {entry.Key.Sum, entry.Seal.Head, "a manifest", false},
	} {
		if err := s.VetBlob(tt.name, tt.seal, []byte(tt.content)); (err == nil) != tt.good || err != nil && !errors.Is(err, trust.ErrUntrusted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := remote.New(nil, remote.Options{}).SealBlob(name, content); err == nil {
		t.Error("without a key")
	}
	if _, seal, err := remote.New(m, remote.Options{Tenant: "a"}).FetchBlob(t.Context(), store.Manifests, name); err != nil || !bytes.Equal(seal, m.Object(m.Names()[0])[:len(seal)]) {
		t.Errorf("%v", err)
	}
}
