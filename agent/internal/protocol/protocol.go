// Package protocol is what an application and the agent say to each other: one request and
// one answer a connection, each a fixed head with a body behind it, numbers little-endian.
//
//	request: magic, op, timeout in ms, 0 (u32 each), length of the body (u64)
//	answer:  magic, status, code, 0 (u32 each), length of the body (u64)
//
// Neither side allocates on the word of a length: each op has a limit.
package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kernstash/kernstash/internal/wire"
	"github.com/kernstash/kernstash/key"
)

// HeadBytes is the length of both heads.
const HeadBytes = 24

// magic holds the version: another one is another protocol.
const magic = "KSA1"

// Op is what is asked.
type Op uint32

// The ops.
const (
	Ping        Op = 1 + iota // Done, the body a Status in JSON
	Get                       // body: a key. Descriptor, Inline or Miss
	GetChecked                // Get for who found the file of a descriptor damaged
	Put                       // body: an Entry. Done, the code a store.PutResult
	Delete                    // body: a key. Done
	Lock                      // body: a key. Done: held until the connection ends; Held
	GetManifest               // body: a name. Inline or Miss
	PutManifest               // body: a name and the manifest. Done
	Prefetch                  // body: the name of an application. Done: what it uses is being fetched
	numOps
)

// Status is how a request ended.
type Status uint32

// The statuses.
const (
	Descriptor Status = 1 + iota // of the entry's file, which comes with the head
	Inline                       // the body is what was asked for
	Miss                         // the code is a reason.Reason
	Done
	Held     // somebody else has the lock
	Refused  // the request makes no sense, or is not for this peer: the body says why
	Busy     // later, perhaps
	TooLarge // larger than the agent takes
	numStatuses
)

// The limits of bodies. That of Put is the agent's to set.
const (
	KeyBytes    = 4 * 32
	NameBytes   = 32
	MaxManifest = 16 << 20
	MaxApp      = 256
	MaxText     = 4096 // of Refused
	MaxStatus   = 1 << 20
)

// ErrMalformed is wrapped by every error of a parser.
var ErrMalformed = errors.New("not the agent's protocol")

// Request is the head of one.
type Request struct {
	Op      Op
	Timeout time.Duration // for the answer to begin
	Size    uint64        // of the body
}

// Append appends the encoding.
func (r Request) Append(b []byte) []byte {
	ms := min(max(r.Timeout.Milliseconds(), 0), math.MaxUint32)
	return appendHead(b, uint32(r.Op), uint32(ms), r.Size)
}

// ParseRequest reads a head. maxPut is the largest body of Put.
func ParseRequest(b []byte, maxPut uint64) (Request, error) {
	op, ms, size, err := parseHead(b)
	if err != nil {
		return Request{}, err
	}
	r := Request{Op: Op(op), Timeout: time.Duration(ms) * time.Millisecond, Size: size}
	var least, most uint64
	switch r.Op {
	case Ping:
	case Get, GetChecked, Delete, Lock:
		least, most = KeyBytes, KeyBytes
	case GetManifest:
		least, most = NameBytes, NameBytes
	case PutManifest:
		least, most = NameBytes, NameBytes+MaxManifest
	case Prefetch:
		least, most = 1, MaxApp
	case Put:
		least, most = entryHead, maxPut
	default:
		return r, fmt.Errorf("%w: op %d", ErrMalformed, op)
	}
	if size < least || size > most {
		return r, fmt.Errorf("%w: op %d with a body of %d bytes, want %d to %d", ErrMalformed, op, size, least, most)
	}
	return r, nil
}

// Answer is the head of one.
type Answer struct {
	Status Status
	Code   uint32
	Size   uint64
}

// Append appends the encoding.
func (a Answer) Append(b []byte) []byte { return appendHead(b, uint32(a.Status), a.Code, a.Size) }

// ParseAnswer reads a head. maxBody is the largest body that the caller takes.
func ParseAnswer(b []byte, maxBody uint64) (Answer, error) {
	status, code, size, err := parseHead(b)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status(status), code, size}
	switch a.Status {
	case Inline, Done:
	case Refused:
		maxBody = MaxText
	case Descriptor, Miss, Held, Busy, TooLarge:
		maxBody = 0
	default:
		return a, fmt.Errorf("%w: status %d", ErrMalformed, status)
	}
	if size > maxBody {
		return a, fmt.Errorf("%w: status %d with a body of %d bytes", ErrMalformed, status, size)
	}
	return a, nil
}

func appendHead(b []byte, what, code uint32, size uint64) []byte {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, what)
	b = binary.LittleEndian.AppendUint32(b, code)
	b = binary.LittleEndian.AppendUint32(b, 0)
	return binary.LittleEndian.AppendUint64(b, size)
}

func parseHead(b []byte) (what, code uint32, size uint64, err error) {
	r := wire.NewReader(b)
	if string(r.Take(4)) != magic {
		r.Fail("magic")
	}
	what, code = r.U32(), r.U32()
	if r.U32() != 0 {
		r.Fail("reserved bytes")
	}
	size = r.U64()
	if err := r.End(); err != nil {
		return 0, 0, 0, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return what, code, size, nil
}

// AppendKey appends a key; its sum follows from the rest.
func AppendKey(b []byte, k key.Key) []byte {
	for _, d := range []key.Digest{k.Device, k.Image, k.Constants, k.Options} {
		b = append(b, d[:]...)
	}
	return b
}

// ParseKey reads a key.
func ParseKey(b []byte) (key.Key, error) {
	r := wire.NewReader(b)
	device, image, constants, options := r.Digest(), r.Digest(), r.Digest(), r.Digest()
	if err := r.End(); err != nil {
		return key.Key{}, fmt.Errorf("%w: key: %w", ErrMalformed, err)
	}
	return key.New(device, image, constants, options), nil
}

// entryHead is what stands before the two files of an entry.
const entryHead = 8

// AppendEntryHead appends what comes before the files of an entry, the artifact's of so many
// bytes first.
func AppendEntryHead(b []byte, binBytes int64) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(binBytes))
}

// ParseEntry returns the two files of an entry, which lie in b.
func ParseEntry(b []byte) (bin, src []byte, err error) {
	r := wire.NewReader(b)
	bin = r.Take(r.U64())
	if err := r.Err(); err != nil {
		return nil, nil, fmt.Errorf("%w: entry: %w", ErrMalformed, err)
	}
	return bin, b[entryHead+len(bin):], nil
}

// ParseNamed returns the name, and what stands behind it, of a manifest.
func ParseNamed(b []byte) (name key.Digest, rest []byte, err error) {
	if len(b) < NameBytes {
		return name, nil, fmt.Errorf("%w: a name of %d bytes", ErrMalformed, len(b))
	}
	copy(name[:], b)
	return name, b[NameBytes:], nil
}
