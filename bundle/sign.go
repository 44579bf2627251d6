package bundle

import (
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/trust"
)

// ErrUntrusted is wrapped by the errors for bundles that none of the trusted keys has signed.
var ErrUntrusted = trust.ErrUntrusted

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
		return nil, fmt.Errorf("%w: it is signed by %s", ErrUntrusted, trust.Fingerprint(by))
	}
	if !ed25519.Verify(by, signed(manifest), s.Signature) {
		return nil, fmt.Errorf("%w: the signature is not that of %s", ErrInvalid, ManifestName)
	}
	return by, nil
}
