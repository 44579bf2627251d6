package bundle

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// ErrUntrusted is wrapped by the errors for bundles that none of the trusted keys has signed.
var ErrUntrusted = errors.New("not signed by a trusted key")

// A signature is what bundle.sig holds.
type signature struct {
	Key       []byte `json:"key"` // the public key; the JSON has base64
	Signature []byte `json:"signature"`
}

// signed returns the bytes that are signed for a manifest: what they are for stands in front.
func signed(manifest []byte) []byte {
	b := append([]byte("kernstash bundle"), 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(manifest)))
	return append(b, manifest...)
}

func sign(private ed25519.PrivateKey, manifest []byte) ([]byte, error) {
	return json.Marshal(signature{private.Public().(ed25519.PublicKey), ed25519.Sign(private, signed(manifest))})
}

// check returns the key that has signed a manifest; nil where sig is empty. Unless trusted is empty,
// it must be one of those.
func check(manifest, sig []byte, trusted []ed25519.PublicKey) (ed25519.PublicKey, error) {
	if len(sig) == 0 {
		if len(trusted) > 0 {
			return nil, fmt.Errorf("%w: there is no signature", ErrUntrusted)
		}
		return nil, nil
	}
	var s signature
	if err := json.Unmarshal(sig, &s); err != nil || len(s.Key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%w: %s is no signature", ErrInvalid, SignatureName)
	}
	by := ed25519.PublicKey(s.Key)
	if len(trusted) > 0 && !slices.ContainsFunc(trusted, func(k ed25519.PublicKey) bool { return k.Equal(by) }) {
		return nil, fmt.Errorf("%w: it is signed by %s", ErrUntrusted, Fingerprint(by))
	}
	if !ed25519.Verify(by, signed(manifest), s.Signature) {
		return nil, fmt.Errorf("%w: the signature is not that of %s", ErrInvalid, ManifestName)
	}
	return by, nil
}

// Fingerprint returns a name of a public key for people: SHA256: and the digest of its 32 bytes, as
// ssh-keygen shows keys.
func Fingerprint(k ed25519.PublicKey) string {
	sum := sha256.Sum256(k)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// MarshalKey returns a private key as PKCS #8 and its public key as SubjectPublicKeyInfo, both in
// PEM, which openssl reads and writes.
func MarshalKey(k ed25519.PrivateKey) (private, public []byte, err error) {
	own, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, nil, err
	}
	others, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: own}), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: others}), nil
}

// ParsePrivateKey reads what [MarshalKey] returns.
func ParsePrivateKey(b []byte) (ed25519.PrivateKey, error) {
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

// ParsePublicKeys reads the public keys that a file in PEM holds, one behind the other.
func ParsePublicKeys(b []byte) (all []ed25519.PublicKey, err error) {
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
