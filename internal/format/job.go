package format

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
	"sync"

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

// maxJobLine bounds the first line: two numbers are in it.
const maxJobLine = len(jobMagic) + len(jobVersion) + len(" 1048576 ffffffff\n")

// Made when it is needed: it takes longer than most of what a process of a few hits
// does.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// EncodeJob encodes a head and a recipe. It does not touch what is in the head,
// which should be text for people.
func EncodeJob(head []byte, r *key.Recipe) ([]byte, error) {
	if len(head) > MaxJobHead {
		return nil, fmt.Errorf("job with a head of %d bytes: %w: %w", len(head), ErrEncode, store.ErrTooLarge)
	}
	if n := r.Image.Size(); n > MaxJob {
		return nil, fmt.Errorf("job with %d bytes of code: %w: %w", n, ErrEncode, store.ErrTooLarge)
	}
	b := make([]byte, maxJobLine, maxJobLine+len(head)+1024+int(r.Image.Size()))
	b = append(append(b, head...), '\n')
	b = r.Append(b)
	line := fmt.Appendf(nil, "%s%s %d %08x\n", jobMagic, jobVersion, len(head), crc32.Checksum(b[maxJobLine:], castagnoli()))
	b = b[maxJobLine-len(line):] // the line is no longer than what was left for it
	copy(b, line)
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
	line, rest, found := bytes.Cut(b[:min(len(b), maxJobLine)], []byte("\n"))
	words, ours := bytes.CutPrefix(line, []byte(jobMagic))
	if !ours {
		return nil, nil, ErrForeign
	}
	if version, _, _ := bytes.Cut(words, []byte(" ")); string(version) != jobVersion {
		return nil, nil, ErrVersion
	}
	if !found {
		return nil, nil, malformed("the first line does not end")
	}
	fields := bytes.Split(words, []byte(" "))
	if len(fields) != 3 {
		return nil, nil, malformed("first line %q", line)
	}
	n, err := strconv.ParseUint(string(fields[1]), 10, 32)
	if err != nil || n > MaxJobHead || strconv.FormatUint(n, 10) != string(fields[1]) {
		return nil, nil, malformed("a head of %q bytes", fields[1])
	}
	rest = b[len(b[:min(len(b), maxJobLine)])-len(rest):]
	if uint64(len(rest)) <= n {
		return nil, nil, ErrTruncated
	}
	if fmt.Sprintf("%08x", crc32.Checksum(rest, castagnoli())) != string(fields[2]) {
		return nil, nil, ErrDigest
	}
	if rest[n] != '\n' {
		return nil, nil, malformed("no line end behind the head")
	}
	if r, err = parseRecipe(rest[n+1:]); err != nil {
		return nil, nil, err
	}
	return rest[:n:n], r, nil
}
