package programs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const (
	shaMessages = 512
	shaBytes    = 80
)

// sha256d digests messages, and their digests.
func sha256d() problem {
	messages := floats(noise(9, shaMessages*shaBytes/4)...) // as good as any bytes
	return problem{
		args: []Arg{{In: bigEndian(messages)}, {Out: shaMessages * sha256.Size}},
		verify: func(out [][]byte) (float64, error) {
			got := bigEndian(out[0])
			for i := range shaMessages {
				once := sha256.Sum256(messages[i*shaBytes : (i+1)*shaBytes])
				want := sha256.Sum256(once[:])
				if !bytes.HasPrefix(got[min(i*sha256.Size, len(got)):], want[:]) {
					return 0, fmt.Errorf("digest of message %d", i)
				}
			}
			return 0, nil
		},
	}
}

// bigEndian turns the bytes of each word round: SHA-256 counts in big-endian
// words, the device in its own.
func bigEndian(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i+4 <= len(b); i += 4 {
		out = binary.BigEndian.AppendUint32(out, binary.LittleEndian.Uint32(b[i:]))
	}
	return out
}
