// Package trust says whose signatures count: the keys that sign what machines give each other,
// bundles and the objects of remotes, and the list of those that are trusted.
package trust

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ErrUntrusted is wrapped by the errors for what none of the trusted keys has signed.
var ErrUntrusted = errors.New("not signed by a trusted key")

// Fingerprint returns a name of a public key for people: SHA256: and the digest of its 32 bytes, as
// ssh-keygen shows keys.
func Fingerprint(k ed25519.PublicKey) string { return fingerprint(sha256.Sum256(k)) }

func fingerprint(sum [sha256.Size]byte) string {
	return fingerprintPrefix + base64.RawStdEncoding.EncodeToString(sum[:])
}

const fingerprintPrefix = "SHA256:"

// ParseFingerprint returns the digest that a fingerprint names.
func ParseFingerprint(s string) (sum [sha256.Size]byte, err error) {
	text, ok := strings.CutPrefix(s, fingerprintPrefix)
	b, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(b) != len(sum) || len(text) != base64.RawStdEncoding.EncodedLen(len(sum)) { // it skips line ends
		return sum, fmt.Errorf("%+q is no fingerprint: want %s and 43 digits of base64", s, fingerprintPrefix)
	}
	return [sha256.Size]byte(b), nil
}

// Generate returns a new private key.
func Generate() (ed25519.PrivateKey, error) {
	_, k, err := ed25519.GenerateKey(nil)
	return k, err
}

// Marshal returns a private key as PKCS #8 and its public key as SubjectPublicKeyInfo, both in
// PEM, which openssl reads and writes.
func Marshal(k ed25519.PrivateKey) (private, public []byte, err error) {
	own, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, nil, err
	}
	others, err := MarshalPublic(k.Public().(ed25519.PublicKey))
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: own}), others, err
}

// MarshalPublic returns a public key as SubjectPublicKeyInfo in PEM.
func MarshalPublic(k ed25519.PublicKey) ([]byte, error) {
	b, err := x509.MarshalPKIXPublicKey(k)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: b}), err
}

// ParsePrivate reads the private key that [Marshal] returns.
func ParsePrivate(b []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(b)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("no PRIVATE KEY in PEM")
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	if k, is := k.(ed25519.PrivateKey); is {
		return k, nil
	}
	return nil, fmt.Errorf("a key of type %T, not Ed25519", k)
}

// ParsePublic reads the public keys that a file in PEM holds, one behind the other.
func ParsePublic(b []byte) (all []ed25519.PublicKey, err error) {
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("%s in PEM, not PUBLIC KEY", block.Type)
		}
		k, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		own, is := k.(ed25519.PublicKey)
		if !is {
			return nil, fmt.Errorf("a key of type %T, not Ed25519", k)
		}
		all = append(all, own)
	}
	if len(all) == 0 {
		return nil, errors.New("no PUBLIC KEY in PEM")
	}
	return all, nil
}
