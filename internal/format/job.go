package format

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// A job is a line of text, a head that is text too, and the recipe in its
// canonical encoding:
//
//	kernstash job 1 <bytes of the head> <CRC-32C of what follows the line>\n
//	<head>\n
//	<recipe>
//
// The sum finds what a crash tore. It need not withstand anybody: nothing is
// built whose key is not worked out anew.
const (
	jobMagic   = "kernstash job "
	jobVersion = "1"
)

// MaxJob is the largest job, MaxJobHead the largest head of one, in bytes.
const (
	MaxJob     = 16 << 20
	MaxJobHead = 1 << 20
)

// jobLine returns the first line of a job, by the length of its head and what follows the line.
func jobLine(head int, rest []byte) string {
	return fmt.Sprintf("%s%s %d %08x", jobMagic, jobVersion, head, crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)))
}

// EncodeJob encodes a head and a recipe. It does not touch what is in the head,
// which should be text for people.
func EncodeJob(head []byte, r *key.Recipe) ([]byte, error) {
	if len(head) > MaxJobHead {
		return nil, fmt.Errorf("job with a head of %d bytes: %w: %w", len(head), ErrEncode, store.ErrTooLarge)
	}
	if n := r.Image.Size(); n > MaxJob {
		return nil, fmt.Errorf("job with %d bytes of code: %w: %w", n, ErrEncode, store.ErrTooLarge)
	}
	rest := r.Append(append(bytes.Clone(head), '\n'))
	b := append([]byte(jobLine(len(head), rest)+"\n"), rest...)
	if len(b) > MaxJob {
		return nil, fmt.Errorf("job of %d bytes: %w: %w", len(b), ErrEncode, store.ErrTooLarge)
	}
	return b, nil
}

// DecodeJob reads what [EncodeJob] wrote, and nothing else. What it returns
// shares memory with b.
func DecodeJob(b []byte) (head []byte, r *key.Recipe, err error) {
	if len(b) > MaxJob {
		return nil, nil, malformed("job of %d bytes", len(b))
	}
	line, rest, found := bytes.Cut(b, []byte("\n"))
	words, ours := strings.CutPrefix(string(line), jobMagic)
	version, numbers, _ := strings.Cut(words, " ")
	length, _, _ := strings.Cut(numbers, " ")
	n, err := strconv.Atoi(length)
	switch {
	case !ours:
		return nil, nil, ErrForeign
	case version != jobVersion:
		return nil, nil, ErrVersion
	case err != nil, n < 0, n > MaxJobHead, strconv.Itoa(n) != length, strings.Count(numbers, " ") != 1, !found:
		return nil, nil, malformed("first line %.60q", line)
	case len(rest) <= n:
		return nil, nil, ErrTruncated
	case string(line) != jobLine(n, rest):
		return nil, nil, ErrDigest
	case rest[n] != '\n':
		return nil, nil, malformed("no line end behind the head")
	}
	if r, err = parseRecipe(rest[n+1:]); err != nil {
		return nil, nil, err
	}
	return rest[:n:n], r, nil
}
