package key

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Schema is the version of the canonical encoding. It is part of every key, so
// entries of another schema are never found.
const Schema = 4

// Digest is a SHA-256 value.
type Digest [sha256.Size]byte

// String returns the digest as 64 lower-case hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Dir returns the first 16 bytes as 32 lower-case hexadecimal digits: the name
// of the directory that stands for one component of a key.
func (d Digest) Dir() string { return hex.EncodeToString(d[:dirBytes]) }

const dirBytes = 16

// ParseDigest reads what [Digest.String] wrote.
func ParseDigest(s string) (Digest, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != sha256.Size {
		return Digest{}, fmt.Errorf("parse digest %q: want %d hexadecimal digits", s, 2*sha256.Size)
	}
	return Digest(b), nil
}

// MarshalText writes the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDigest(string(text))
	return err
}

// Key names the result of one build for one device. The zero Key names
// nothing. Keys are comparable.
type Key struct {
	Device    Digest `json:"device"`    // of [Device]
	Image     Digest `json:"image"`     // of [Image]: kind, code, headers, header files
	Constants Digest `json:"constants"` // of [Constants]
	Options   Digest `json:"options"`   // of [BuildOptions], variables and attributes included
	Sum       Digest `json:"sum"`       // over [Schema] and the four above
}

// New returns the key that the four component digests make.
func New(device, image, constants, options Digest) Key {
	var buf [len(tagKey) + 4 + 4*sha256.Size]byte
	b := append(buf[:0], tagKey...)
	b = append(b, Schema, 0, 0, 0)
	b = append(b, device[:]...)
	b = append(b, image[:]...)
	b = append(b, constants[:]...)
	b = append(b, options[:]...)
	return Key{device, image, constants, options, sha256.Sum256(b)}
}

// String returns the sum in hexadecimal.
func (k Key) String() string { return k.Sum.String() }

// Short returns the first 12 digits of the sum, enough for people.
func (k Key) Short() string { return k.Sum.String()[:12] }

// IsZero reports whether k names nothing.
func (k Key) IsZero() bool { return k == Key{} }

// Dirs returns the four directory names, outermost first: device, image,
// constants, options.
func (k Key) Dirs() [4]string {
	return [4]string{k.Device.Dir(), k.Image.Dir(), k.Constants.Dir(), k.Options.Dir()}
}
