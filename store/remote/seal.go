package remote

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/trust"
)

// Seal signs an entry as Put does, for who keeps it elsewhere: it gets a seal, which Put puts
// as it is. The artifact has to say when it was created. An entry that has a seal keeps it.
func (s *Store) Seal(e *store.Entry) error {
	if s.err != nil || e.Seal != nil {
		return s.err
	}
	if s.opt.Sign == nil {
		return errNoKey
	}
	b, err := s.encode(e)
	if err != nil {
		return err
	}
	o, err := parse(b)
	if err == nil {
		e.Seal = o.seal(b)
	}
	return err
}

// SealBlob signs a manifest as PutBlob does, for who keeps it elsewhere, and returns the head of its seal.
func (s *Store) SealBlob(name key.Digest, content []byte) (seal []byte, err error) {
	if s.err != nil || s.opt.Sign == nil {
		return nil, cmp.Or(s.err, errNoKey)
	}
	b, err := s.seal(kindManifest, name[:], content, sha256.Sum256(content))
	if err != nil {
		return nil, err
	}
	o, err := parse(b)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(o.seal(b).Head), nil
}

var errNoKey = errors.New("there is no key to sign with")

// Signs reports whether what Seal signs may be handed out where it is asked for signatures: there
// is a key, and the list of trusted keys, where there is one, knows it.
func (s *Store) Signs() bool {
	if s.opt.Sign == nil {
		return false
	}
	return !s.Asks() || s.opt.Trust.Check(s.opt.Sign.Public().(ed25519.PublicKey)) == nil
}

// Asks reports whether signatures are asked for.
func (s *Store) Asks() bool { return s.opt.Trust.IsSet() }

// Vet returns nil where the head of a seal, nil where there is none, vouches for the entry of k
// with this .bin: it is of this tenant and key, of the digest of the .bin, and signed by a key that is
// trusted now. Where signatures are not asked for, nothing is looked at. The first refusal is logged.
func (s *Store) Vet(k key.Key, seal []byte, bin io.Reader) error {
	return s.vet(kindEntry, nameOf(k), seal, bin)
}

// VetBlob is Vet of a manifest.
func (s *Store) VetBlob(name key.Digest, seal, content []byte) error {
	return s.vet(kindManifest, name[:], seal, bytes.NewReader(content))
}

func (s *Store) vet(kind string, name, seal []byte, content io.Reader) error {
	if !s.Asks() {
		return nil
	}
	err := s.vouches(kind, name, seal, content)
	if err != nil {
		s.warn("what a node cache holds is not trusted", kind, name, err)
	}
	return err
}

func (s *Store) vouches(kind string, name, seal []byte, content io.Reader) error {
	if len(seal) == 0 {
		return fmt.Errorf("%w: there is no signature", trust.ErrUntrusted)
	}
	o, err := parseHead(seal)
	switch {
	case err != nil:
		return err
	case o.tenant != s.opt.Tenant:
		return fmt.Errorf("%w: %w", trust.ErrUntrusted, errTenant)
	case o.kind != kind || !bytes.Equal(o.name, name):
		return fmt.Errorf("%w: %w", trust.ErrUntrusted, errName)
	}
	if err := o.checkSigner(s.opt.Trust); err != nil {
		return err
	}
	if err := s.seals.verify(o, seal); err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.CopyBuffer(h, content, make([]byte, 64<<10)); err != nil {
		return fmt.Errorf("%w: %w", trust.ErrUntrusted, err)
	}
	if !bytes.Equal(h.Sum(nil), o.content[:]) {
		return fmt.Errorf("%w: something else was signed", trust.ErrUntrusted)
	}
	return nil
}

// parseHead takes the head of a seal apart.
func parseHead(head []byte) (*object, error) {
	o, rest, err := parseSealed(head)
	if err == nil {
		err = rest.End()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", trust.ErrUntrusted, err)
	}
	return o, nil
}

// sealed returns the object that an entry came as; nil: only its head is known, or it is of another tenant,
// and it may be signed anew. What came under a key that is not trusted any more is an error: whoever signs that
// undoes the revocation.
func (s *Store) sealed(e *store.Entry) ([]byte, error) {
	o, err := parseHead(e.Seal.Head)
	if err == nil && s.Asks() {
		err = o.checkSigner(s.opt.Trust)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the signature under which it came: %w", store.ErrInvalid, err)
	}
	if e.Seal.Payload == nil || o.tenant != s.opt.Tenant || o.key() != e.Key {
		return nil, nil
	}
	b := bytes.Join([][]byte{e.Seal.Head, e.Seal.Payload}, nil)
	if int64(len(b)) > s.opt.MaxSize || o.decompressed > uint64(s.opt.MaxSize) {
		return nil, s.tooLarge(max(int64(len(b)), int64(o.decompressed)))
	}
	return b, nil
}

// Signer returns who signed the head of a seal.
func Signer(head []byte) (ed25519.PublicKey, error) {
	o, err := parseHead(head)
	if err != nil {
		return nil, err
	}
	if o.signer == nil {
		return nil, errors.New("there is no signature")
	}
	return o.signer, o.verify()
}

// maxVerified bounds how many seals are remembered: some 400 KB.
const maxVerified = 4096

// verified remembers which seals have a signature that is right, which is so for ever. Whose it is, and whether
// that key is trusted, is asked each time. Its zero value is ready.
type verified struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]struct{}
}

func (v *verified) verify(o *object, head []byte) error {
	sum := sha256.Sum256(head)
	v.mu.Lock()
	_, known := v.of[sum]
	v.mu.Unlock()
	if known {
		return nil
	}
	if err := o.verify(); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil || len(v.of) >= maxVerified {
		v.of = make(map[[sha256.Size]byte]struct{})
	}
	v.of[sum] = struct{}{}
	return nil
}
