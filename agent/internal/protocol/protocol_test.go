package protocol

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
)

func TestHeads(t *testing.T) {
	t.Parallel()
	const want = "KSA1" + "\x02\x00\x00\x00" + "\xf4\x01\x00\x00" + "\x00\x00\x00\x00" + "\x80\x00\x00\x00\x00\x00\x00\x00"
	r := Request{Op: Get, Timeout: 500 * time.Millisecond, Size: 128}
	if got := string(r.Append(nil)); got != want {
		t.Errorf("request: %q", got)
	}
	got, err := ParseRequest([]byte(want), 1<<20)
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Errorf("request: %v\n%s", err, diff)
	}
	if long := (Request{Op: Ping, Timeout: math.MaxInt64}).Append(nil); string(long[8:12]) != "\xff\xff\xff\xff" {
		t.Errorf("a long timeout: %q", long)
	}
	a := Answer{Status: Miss, Code: 7}
	const answer = "KSA1" + "\x03\x00\x00\x00" + "\x07\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"
	if got := string(a.Append(nil)); got != answer {
		t.Errorf("answer: %q", got)
	}
	if got, err := ParseAnswer([]byte(answer), 0); err != nil || got != a {
		t.Errorf("answer: %+v, %v", got, err)
	}
}

func TestBadHeads(t *testing.T) {
	t.Parallel()
	good := string(Request{Op: Put, Size: 100}.Append(nil))
	for name, b := range map[string]string{
		"empty": "", "short": good[:23], "long": good + "x", "magic": "KSA2" + good[4:], "op 0": good[:4] + "\x00" + good[5:],
		"op 10": good[:4] + "\x0a" + good[5:], "reserved": good[:12] + "\x01" + good[13:],
		"too large":       string(Request{Op: Put, Size: 1<<20 + 1}.Append(nil)),
		"largest":         string(Request{Op: Put, Size: math.MaxUint64}.Append(nil)),
		"entry too small": string(Request{Op: Put, Size: 7}.Append(nil)),
		"key too small":   string(Request{Op: Get, Size: 127}.Append(nil)),
		"key too large":   string(Request{Op: Lock, Size: 129}.Append(nil)),
		"ping with body":  string(Request{Op: Ping, Size: 1}.Append(nil)),
		"no application":  string(Request{Op: Prefetch}.Append(nil)),
		"application":     string(Request{Op: Prefetch, Size: MaxApp + 1}.Append(nil)),
		"manifest":        string(Request{Op: PutManifest, Size: NameBytes + MaxManifest + 1}.Append(nil)),
	} {
		if _, err := ParseRequest([]byte(b), 1<<20); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, a := range map[string]Answer{
		"status 0": {}, "status 9": {Status: 9}, "miss with body": {Status: Miss, Size: 1}, "text": {Status: Refused, Size: MaxText + 1},
		"inline": {Status: Inline, Size: 11}, "descriptor with body": {Status: Descriptor, Size: 1},
	} {
		if _, err := ParseAnswer(a.Append(nil), 10); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	k := key.New(key.Digest{1}, key.Digest{2}, key.Digest{3}, key.Digest{4})
	got, err := ParseKey(AppendKey(nil, k))
	if err != nil || got != k {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ParseKey(make([]byte, 127)); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	b := append(AppendEntryHead(nil, 3), "binsource"...)
	bin, src, err := ParseEntry(b)
	if err != nil || string(bin) != "bin" || string(src) != "source" {
		t.Errorf("%q, %q, %v", bin, src, err)
	}
	for _, b := range []string{"", "1234567", string(AppendEntryHead(nil, 1)), string(AppendEntryHead(nil, -1)) + strings.Repeat("x", 100)} {
		if _, _, err := ParseEntry([]byte(b)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

// FuzzParse parses everything that comes from the other side.
func FuzzParse(f *testing.F) {
	f.Add(Request{Op: Put, Timeout: time.Second, Size: 100}.Append(nil))
	f.Add(Answer{Status: Inline, Size: 10}.Append(nil))
	f.Add(append(AppendEntryHead(nil, 3), "binsource"...))
	f.Add(AppendKey(nil, key.New(key.Digest{1}, key.Digest{2}, key.Digest{3}, key.Digest{4})))
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 20
		if r, err := ParseRequest(b, most); err == nil {
			if r.Size > NameBytes+MaxManifest || !bytes.Equal(r.Append(nil), b) {
				t.Errorf("request %+v of %q", r, b)
			}
		}
		if a, err := ParseAnswer(b, most); err == nil {
			if a.Size > most || !bytes.Equal(a.Append(nil), b) {
				t.Errorf("answer %+v of %q", a, b)
			}
		}
		if bin, src, err := ParseEntry(b); err == nil && !bytes.Equal(append(append(AppendEntryHead(nil, int64(len(bin))), bin...), src...), b) {
			t.Errorf("entry %q, %q of %q", bin, src, b)
		}
		if k, err := ParseKey(b); err == nil && !bytes.Equal(AppendKey(nil, k), b) {
			t.Errorf("key %v of %q", k, b)
		}
		if name, rest, err := ParseNamed(b); err == nil && !bytes.Equal(append(name[:], rest...), b) {
			t.Errorf("named of %q", b)
		}
	})
}
