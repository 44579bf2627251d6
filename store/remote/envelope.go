package remote

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/wire"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/trust"
)

// An object is a head, a signature of it, and a payload whose digest and lengths the head holds.
// docs/FORMAT.md has every byte.
const (
	magic   = "kstobj\r\n" // a transfer that changes line ends changes it
	version = 1

	// domain begins what is signed: no signature of an object is one of anything else.
	domain = "kernstash object"

	prefixBytes = 16      // magic, version, length of the head
	maxHead     = 4 << 10 // of which tenant and builder may take 512

	signatureBytes = ed25519.PublicKeySize + ed25519.SignatureSize

	maxBuilder = 256
)

// What an object holds.
const (
	kindEntry    = "entry"
	kindManifest = "manifest"
	kindApp      = "app"
)

// nameBytes are the lengths of names in heads, by kind.
var nameBytes = map[string]int{kindEntry: 5 * sha256.Size, kindManifest: sha256.Size, kindApp: sha256.Size}

// head is what the signature of an object is over.
type head struct {
	tenant       string
	kind         string     // one of kind…
	name         []byte     // of an entry the five digests of its key, of a manifest its name, of an application its name's SHA-256
	digest       key.Digest // SHA-256 of the payload, which is compressed
	compressed   uint64     // bytes of the payload
	decompressed uint64     // bytes of what it holds
	content      key.Digest // SHA-256 of the .bin that it holds, or of the manifest
	builder      string
	created      int64 // when it was written, nanoseconds since 1970
}

// nameOf returns the name of an entry in a head.
func nameOf(k key.Key) []byte {
	return bytes.Join([][]byte{k.Device[:], k.Image[:], k.Constants[:], k.Options[:], k.Sum[:]}, nil)
}

// key returns the key that the head of an entry names.
func (h *head) key() (k key.Key) {
	b := h.name
	for _, d := range []*key.Digest{&k.Device, &k.Image, &k.Constants, &k.Options, &k.Sum} {
		b = b[copy(d[:], b):]
	}
	return k
}

// append appends the head as it stands in an object.
func (h *head) append(b []byte) []byte {
	start := len(b)
	le := binary.LittleEndian
	b = append(b, magic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, 0)
	for _, f := range []string{h.tenant, h.kind, string(h.name), string(h.digest[:])} {
		b = wire.AppendText(b, f)
	}
	for _, n := range []uint64{h.compressed, h.decompressed} {
		b = le.AppendUint64(le.AppendUint32(b, 8), n)
	}
	b = wire.AppendText(b, string(h.content[:]))
	b = wire.AppendText(b, h.builder)
	b = le.AppendUint64(le.AppendUint32(b, 8), uint64(h.created))
	le.PutUint32(b[start+12:], uint32(len(b)-start))
	return b
}

// message returns what is signed for a head.
func message(head []byte) []byte {
	return append(wire.AppendText(make([]byte, 0, 4+len(domain)+len(head)), domain), head...)
}

// seal returns an object of a payload, which is compressed; private nil: it is not signed.
func seal(h head, payload []byte, private ed25519.PrivateKey) []byte {
	h.digest, h.compressed = sha256.Sum256(payload), uint64(len(payload))
	b := h.append(make([]byte, 0, 512+len(payload)))
	if private == nil {
		b = binary.LittleEndian.AppendUint32(b, 0)
		return append(b, payload...)
	}
	signature := ed25519.Sign(private, message(b))
	b = binary.LittleEndian.AppendUint32(b, signatureBytes)
	b = append(b, private.Public().(ed25519.PublicKey)...)
	return append(append(b, signature...), payload...)
}

// object is one that was parsed. Nothing of it has been checked but its form.
type object struct {
	head
	raw       []byte            // the head's bytes
	signer    ed25519.PublicKey // nil: it is not signed
	signature []byte
	payload   []byte
}

// seal returns what of an object is kept with its entry elsewhere; nil: it is not signed.
func (o *object) seal(b []byte) *store.Seal {
	if o.signer == nil {
		return nil
	}
	n := len(b) - len(o.payload)
	return &store.Seal{Head: b[:n:n], Payload: o.payload}
}

// parse takes an object apart. Its parts share memory with b.
func parse(b []byte) (*object, error) {
	o, rest, err := parseSealed(b)
	if err != nil {
		return nil, err
	}
	o.payload = rest.Take(o.compressed)
	if rest.End() != nil {
		return nil, format.ErrTruncated
	}
	return o, nil
}

// parseSealed takes apart what stands before the payload of an object, which rest is left with.
func parseSealed(b []byte) (o *object, rest *wire.Reader, err error) {
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
		return nil, nil, format.ErrForeign
	}
	if len(b) < prefixBytes {
		return nil, nil, format.ErrTruncated
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return nil, nil, fmt.Errorf("object of version %d: %w", v, format.ErrVersion)
	}
	n := binary.LittleEndian.Uint32(b[12:])
	if n < prefixBytes || n > maxHead {
		return nil, nil, fmt.Errorf("head of %d bytes: %w", n, format.ErrMalformed)
	}
	if len(b) < int(n)+4 {
		return nil, nil, format.ErrTruncated
	}
	o = &object{raw: b[:n]}
	r := wire.NewReader(o.raw[prefixBytes:])
	o.tenant, o.kind, o.name = r.Text(), r.Text(), r.Take(uint64(r.U32()))
	copy(o.digest[:], fixed(r, sha256.Size))
	o.compressed, o.decompressed = number(r), number(r)
	copy(o.content[:], fixed(r, sha256.Size))
	o.builder, o.created = r.Text(), int64(number(r))
	if want := nameBytes[o.kind]; want == 0 || len(o.name) != want {
		r.Fail("kind %+q with a name of %d bytes", o.kind, len(o.name))
	}
	if len(o.builder) > maxBuilder || !utf8.ValidString(o.builder) {
		r.Fail("a builder of %d bytes", len(o.builder))
	}
	if err := r.End(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", format.ErrMalformed, err)
	}
	rest = wire.NewReader(b[n:])
	if signed := rest.U32(); signed == signatureBytes {
		o.signer, o.signature = rest.Take(ed25519.PublicKeySize), rest.Take(ed25519.SignatureSize)
	} else if signed != 0 {
		return nil, nil, fmt.Errorf("signature of %d bytes: %w", signed, format.ErrMalformed)
	}
	if rest.Err() != nil {
		return nil, nil, format.ErrTruncated
	}
	return o, rest, nil
}

// fixed reads a field of n bytes.
func fixed(r *wire.Reader, n int) []byte {
	if got := r.U32(); int(got) != n {
		r.Fail("a field of %d bytes, not %d", got, n)
	}
	return r.Take(uint64(n))
}

func number(r *wire.Reader) uint64 {
	if b := fixed(r, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Errors of objects that are not what was asked for.
var (
	errTenant = errors.New("an object of another tenant")
	errName   = errors.New("an object of another name")
	errBomb   = errors.New("it expands to more than it may")
)

// check compares an object with what was asked for, and, where a list is set, asks for the signature
// of a trusted key. What comes out of it may be decompressed.
func (o *object) check(tenant, kind string, name []byte, list *trust.List, limit int64) error {
	switch {
	case o.tenant != tenant:
		return errTenant
	case o.kind != kind || !bytes.Equal(o.name, name):
		return errName
	}
	if list.IsSet() {
		if err := o.checkSigner(list); err != nil {
			return err
		}
		if err := o.verify(); err != nil {
			return err
		}
	}
	if o.decompressed > uint64(limit) {
		return fmt.Errorf("%w: %w: %d bytes", format.ErrMalformed, errBomb, o.decompressed)
	}
	if sha256.Sum256(o.payload) != o.digest {
		return format.ErrDigest
	}
	return nil
}

// checkSigner asks a list about who signed an object.
func (o *object) checkSigner(list *trust.List) error {
	if o.signer == nil {
		return fmt.Errorf("%w: there is no signature", trust.ErrUntrusted)
	}
	return list.Check(o.signer)
}

// verify checks the signature that an object has.
func (o *object) verify() error {
	if !ed25519.Verify(o.signer, message(o.raw), o.signature) {
		return fmt.Errorf("%w: the signature of %s is wrong", trust.ErrUntrusted, trust.Fingerprint(o.signer))
	}
	return nil
}

// decompress returns what the payload holds: as much as the head says, and not a byte more is made.
func (o *object) decompress(z *zstd.Decoder) ([]byte, error) {
	b, err := z.DecodeAll(o.payload, make([]byte, 0, o.decompressed))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", format.ErrMalformed, err)
	case uint64(len(b)) != o.decompressed:
		return nil, format.ErrTruncated
	}
	return b, nil
}

// createdAt returns when an object was written.
func (h *head) createdAt() time.Time { return time.Unix(0, h.created).UTC() }
