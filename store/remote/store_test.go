package remote_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

// reasonOf returns why an error is a miss; 0 where it is none.
func reasonOf(err error) reason.Reason {
	var m *store.MissError
	if !errors.As(err, &m) || !errors.Is(err, store.ErrNotFound) {
		return 0
	}
	return m.Reason
}

// TestNames: names are those of docs/FORMAT.md, and hold nothing of the machine.
func TestNames(t *testing.T) {
	t.Parallel()
	m := new(remotetest.Memory)
	e := storetest.New(t, "one", 100)
	name := key.Digest(sha256.Sum256([]byte("name")))
	for _, tenant := range []string{"", "team-1"} {
		s := remote.New(m, remote.Options{Tenant: tenant})
		if _, err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if err := s.PutBlob(t.Context(), store.Manifests, name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	sum := e.Key.Sum.String()
	want := []string{
		"v1/default/" + sum[:2] + "/" + sum, "v1/default/m/82a3537ff0dbce7eec35d69edc3a189ee6f17d82f353a553f9aa96cb0be3ce89",
		"v1/team-1/" + sum[:2] + "/" + sum, "v1/team-1/m/82a3537ff0dbce7eec35d69edc3a189ee6f17d82f353a553f9aa96cb0be3ce89",
	}
	if d := cmp.Diff(want, m.Names()); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	s := remote.New(m, remote.Options{Tenant: "team-1"})
	if got := s.LeaseName(e.Key); got != "lease/team-1/"+sum {
		t.Errorf("the lease is called %s", got)
	}
	const app = "a172cedcae47474b615c54d510a5d84a8dea3032e958587430b413538be3f333" // SHA-256 of "app"
	if got := []string{s.AppName("app"), s.PackName("app")}; !slices.Equal(got, []string{"v1/team-1/a/" + app, "v1/team-1/p/" + app}) {
		t.Errorf("an application's are called %v", got)
	}
	if err := s.Delete(t.Context(), e.Key); err != nil || len(m.Names()) != 3 {
		t.Errorf("%v after a deletion, %v", m.Names(), err)
	}
	if _, err := remote.New(m, remote.Options{}).Get(t.Context(), e.Key); err != nil {
		t.Errorf("another tenant's is gone: %v", err)
	}
}

// TestBadOptions: with them every call fails, and says why.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	e := storetest.New(t, "one", 100)
	for name, o := range map[string]remote.Options{
		"slash": {Tenant: "a/b"}, "dot": {Tenant: "."}, "hidden": {Tenant: ".a"}, "capitals": {Tenant: "Team"}, "long": {Tenant: strings.Repeat("a", 65)},
		"colon": {Tenant: "a:b"}, "NUL": {Tenant: "a\x00"}, "builder": {Builder: strings.Repeat("b", 257)}, "bytes": {Builder: "\xff"},
		"key": {Sign: []byte("short")}, "negative": {MaxSize: -1}, "too large": {MaxSize: 5 << 30},
	} {
		s := remote.New(new(remotetest.Memory), o)
		if o.Check() == nil {
			t.Errorf("%s: nothing is wrong with it", name)
		}
		_, putErr := s.Put(t.Context(), e)
		_, err := s.Get(t.Context(), e.Key)
		if putErr == nil || reasonOf(err) != reason.MissRemote || s.Delete(t.Context(), e.Key) == nil ||
			s.PutBlob(t.Context(), store.Manifests, key.Digest{}, nil) == nil {
			t.Errorf("%s: put %v, get %v", name, putErr, err)
		}
		for _, err := range s.List(t.Context()) {
			if err == nil {
				t.Errorf("%s: a list", name)
			}
		}
		s.GetMany(t.Context(), []key.Key{e.Key}, func(_ key.Key, _ *store.Entry, err error) {
			if reasonOf(err) != reason.MissRemote {
				t.Errorf("%s: get many: %v", name, err)
			}
		})
	}
	for _, tenant := range []string{"a", "0", "-", "a.b", "a_b", strings.Repeat("a", 64)} {
		if err := (remote.Options{Tenant: tenant, Builder: "bär"}).Check(); err != nil {
			t.Errorf("%q: %v", tenant, err)
		}
	}
}

// TestPutMeetsAnother: what a put does to what is there.
func TestPutMeetsAnother(t *testing.T) {
	t.Parallel()
	ours, theirs := generate(t), generate(t)
	trusting := trust.Of(public(ours))
	e, other := storetest.New(t, "one", 100), storetest.New(t, "other", 100)
	worse := storetest.New(t, "one", 100)
	worse.Artifact.Binaries[0].Form = store.FormIntermediate
	name := remote.New(nil, remote.Options{}).Name(e.Key)
	encoded := func(o remote.Options, e *store.Entry) []byte {
		m := new(remotetest.Memory)
		s := remote.New(m, o)
		if _, err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		return m.Object(s.Name(e.Key))
	}
	signed, plain := encoded(remote.Options{Sign: ours}, e), encoded(remote.Options{}, e)
	worseSigned := encoded(remote.Options{Sign: ours}, worse)
	foreign := encoded(remote.Options{Sign: theirs}, e)
	newer := append(append(bytes.Clone(plain[:8]), 2), plain[9:]...)
	for what, tt := range map[string]struct {
		there []byte
		o     remote.Options
		want  store.PutResult
	}{
		"as good":                        {plain, remote.Options{}, store.Existing},
		"worse":                          {encoded(remote.Options{}, worse), remote.Options{}, store.Bettered},
		"cut short":                      {plain[:len(plain)-1], remote.Options{}, store.Bettered},
		"damaged":                        {append(bytes.Clone(plain[:len(plain)-1]), ^plain[len(plain)-1]), remote.Options{}, store.Bettered},
		"something else":                 {[]byte("something else"), remote.Options{}, store.Bettered},
		"nothing":                        {[]byte{}, remote.Options{}, store.Bettered},
		"another entry":                  {encoded(remote.Options{}, other), remote.Options{}, store.Bettered},
		"another tenant's":               {encoded(remote.Options{Tenant: "x"}, e), remote.Options{}, store.Bettered},
		"of a newer version":             {newer, remote.Options{}, store.Failed},
		"signed as good, we sign":        {signed, remote.Options{Sign: ours, Trust: trusting}, store.Existing},
		"signed worse, we sign":          {worseSigned, remote.Options{Sign: ours, Trust: trusting}, store.Bettered},
		"signed as good, we do not":      {signed, remote.Options{Trust: trusting}, store.Existing},
		"signed worse, we do not":        {worseSigned, remote.Options{}, store.Failed},
		"signed worse, nobody trusts us": {worseSigned, remote.Options{Sign: theirs, Trust: trusting}, store.Failed},
		"signed by others, we do not":    {foreign, remote.Options{Trust: trusting}, store.Failed},
		"signed by others, we sign":      {foreign, remote.Options{Sign: ours, Trust: trusting}, store.Bettered},
		"not signed, we sign":            {plain, remote.Options{Sign: ours, Trust: trusting}, store.Bettered},
		"signed and damaged, we do not":  {signed[:len(signed)-1], remote.Options{}, store.Bettered},
		"signed, damaged within":         {append(bytes.Clone(signed[:len(signed)-1]), ^signed[len(signed)-1]), remote.Options{}, store.Bettered},
	} {
		m := new(remotetest.Memory)
		m.Set(name, tt.there)
		s := remote.New(m, tt.o)
		res, err := s.Put(t.Context(), e)
		if res != tt.want || (err != nil) != (tt.want == store.Failed) {
			t.Errorf("%s: %d, %v; want %d", what, res, err, tt.want)
		}
		if changed := !bytes.Equal(m.Object(name), tt.there); changed != (tt.want == store.Bettered) {
			t.Errorf("%s: it was replaced: %v", what, changed)
		}
		if tt.want != store.Bettered {
			continue
		}
		if _, err := s.Get(t.Context(), e.Key); err != nil {
			t.Errorf("%s: what was put is a miss: %v", what, err)
		}
	}
}

// TestUnsignedIsWritten: without a key, what is put is there, for those who have no list.
func TestUnsignedIsWritten(t *testing.T) {
	t.Parallel()
	m, e := new(remotetest.Memory), storetest.New(t, "one", 100)
	listed := remote.New(m, remote.Options{Trust: trust.Of(public(generate(t)))})
	if res, err := listed.Put(t.Context(), e); err != nil || res != store.Stored {
		t.Fatalf("put: %v, %v", res, err)
	}
	if _, err := listed.Get(t.Context(), e.Key); reasonOf(err) != reason.MissUntrusted {
		t.Errorf("with a list: %v, want %v", err, reason.MissUntrusted)
	}
	if _, err := remote.New(m, remote.Options{}).Get(t.Context(), e.Key); err != nil {
		t.Errorf("without a list: %v", err)
	}
}

// TestManifestsAreSigned: a manifest of nobody, of another name or of another tenant is a miss.
func TestManifestsAreSigned(t *testing.T) {
	t.Parallel()
	ours := generate(t)
	name, other := key.Digest(sha256.Sum256([]byte("name"))), key.Digest(sha256.Sum256([]byte("other")))
	m := new(remotetest.Memory)
	reader := remote.New(m, remote.Options{Trust: trust.Of(public(ours))})
	at := reader.ManifestName(name)
	for what, tt := range map[string]struct {
		o    remote.Options
		name key.Digest
		want reason.Reason
	}{
		"ours":           {remote.Options{Sign: ours}, name, 0},
		"not signed":     {remote.Options{}, name, reason.MissUntrusted},
		"of others":      {remote.Options{Sign: generate(t)}, name, reason.MissUntrusted},
		"another name":   {remote.Options{Sign: ours}, other, reason.MissUntrusted},
		"another tenant": {remote.Options{Sign: ours, Tenant: "x"}, name, reason.MissUntrusted},
	} {
		w := remote.New(m, tt.o)
		if err := w.PutBlob(t.Context(), store.Manifests, tt.name, []byte("content")); err != nil {
			t.Fatal(err)
		}
		m.Set(at, m.Object(w.ManifestName(tt.name)))
		got, err := reader.GetBlob(t.Context(), store.Manifests, name)
		if reasonOf(err) != tt.want || (err == nil) != (string(got) == "content") {
			t.Errorf("%s: %q, %v; want %v", what, got, err, tt.want)
		}
	}
	// An entry in the place of a manifest.
	e := storetest.New(t, "one", 100)
	w := remote.New(m, remote.Options{Sign: ours})
	if _, err := w.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	m.Set(at, m.Object(w.Name(e.Key)))
	if _, err := reader.GetBlob(t.Context(), store.Manifests, name); reasonOf(err) != reason.MissUntrusted {
		t.Errorf("an entry: %v", err)
	}
	if err := w.PutBlob(t.Context(), store.Manifests, name, make([]byte, 16<<20+1)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("17 MiB: %v", err)
	}
}

// TestTroubleIsAMiss: whatever an engine answers, a get is a miss that says why, and a put an error.
func TestTroubleIsAMiss(t *testing.T) {
	t.Parallel()
	e := storetest.New(t, "one", 1000)
	refused := errors.New("connection refused")
	stored := func(m *remotetest.Memory) {
		if _, err := remote.New(m, remote.Options{}).Put(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	good := new(remotetest.Memory)
	stored(good)
	whole := good.Object(good.Names()[0])
	for what, tt := range map[string]struct {
		fault  func(context.Context, remotetest.Op, string) error
		change func(string, []byte) []byte
		want   reason.Reason
		cause  error
	}{
		"refuses":       {fault: func(context.Context, remotetest.Op, string) error { return refused }, want: reason.MissRemote, cause: refused},
		"hangs":         {fault: remotetest.Hang, want: reason.MissRemote, cause: context.Canceled},
		"cuts":          {change: func(_ string, b []byte) []byte { return b[:len(b)/2] }, want: reason.MissTruncated},
		"adds":          {change: func(_ string, b []byte) []byte { return append(b, b...) }, want: reason.MissTruncated},
		"empties":       {change: func(string, []byte) []byte { return nil }, want: reason.MissTruncated},
		"answers HTML":  {change: func(string, []byte) []byte { return []byte("<html>Please log in</html>") }, want: reason.MissForeign},
		"breaks bytes":  {change: func(_ string, b []byte) []byte { b[len(b)-20] ^= 0x40; return b }, want: reason.MissDigest},
		"converts text": {change: func(_ string, b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }, want: reason.MissForeign},
		"floods":        {change: func(_ string, b []byte) []byte { return append(b, make([]byte, 2<<20)...) }, want: reason.MissTruncated, cause: remote.ErrTooLarge},
	} {
		m := &remotetest.Memory{Fault: tt.fault, Change: tt.change}
		m.Set(good.Names()[0], whole)
		var counts stats.Counters
		s := remote.New(m, remote.Options{MaxSize: 1 << 20, Recorder: &counts})
		ctx := t.Context()
		if what == "hangs" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			go cancel()
		}
		got, err := s.Get(ctx, e.Key)
		if reasonOf(err) != tt.want || got != nil || tt.cause != nil && !errors.Is(err, tt.cause) {
			t.Errorf("%s: %v, %v; want %v because of %v", what, got, err, tt.want, tt.cause)
		}
		asked := 0
		s.GetMany(ctx, []key.Key{e.Key, e.Key}, func(k key.Key, got *store.Entry, err error) {
			if asked++; k != e.Key || reasonOf(err) != tt.want || got != nil {
				t.Errorf("%s: get many: %v, %v; want %v", what, got, err, tt.want)
			}
		})
		if asked != 2 {
			t.Errorf("%s: get many answers %d of 2", what, asked)
		}
		corrupt := tt.cause == nil
		if n := counts.Snapshot().Get(stats.Corrupt); (n == 3) != corrupt || n != 0 && !corrupt {
			t.Errorf("%s: %d are counted as damaged", what, n)
		}
		if tt.fault != nil {
			if res, err := s.Put(ctx, e); res != store.Failed || !errors.Is(err, tt.cause) {
				t.Errorf("%s: put: %v, %v", what, res, err)
			}
		}
	}
}

// TestUntrustedIsWarnedOfOnce: who reads is told of the first one, with its key and why.
func TestUntrustedIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	m := new(remotetest.Memory)
	var said bytes.Buffer
	ours := generate(t)
	s := remote.New(m, remote.Options{Trust: trust.Of(public(ours)), Log: slog.New(slog.NewTextHandler(&said, nil))})
	for i, o := range []remote.Options{{Sign: ours}, {}, {}, {Sign: generate(t)}} {
		e := storetest.New(t, fmt.Sprint(i), 100)
		if _, err := remote.New(m, o).Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := s.Get(t.Context(), e.Key); (err == nil) != (i == 0) {
				t.Errorf("entry %d: %v", i, err)
			}
		}
		if i == 0 && said.Len() > 0 {
			t.Errorf("said of a good one: %s", said.String())
		}
	}
	first := storetest.New(t, "1", 100).Key.String()
	if text := said.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "entry="+first) || !strings.Contains(text, "there is no signature") {
		t.Errorf("said:\n%s", text)
	}
}

// TestFullEngine: what has no room is told as that.
func TestFullEngine(t *testing.T) {
	t.Parallel()
	var counts stats.Counters
	s := remote.New(&remotetest.Memory{MaxBytes: 100}, remote.Options{Recorder: &counts})
	if res, err := s.Put(t.Context(), storetest.New(t, "one", 100)); res != store.Failed || !errors.Is(err, remote.ErrFull) {
		t.Errorf("%v, %v", res, err)
	}
	if counts.Snapshot().Get(stats.RemotePutFailures) != 1 {
		t.Error("it is not counted")
	}
}

// TestPutOfWhatGoes: what was there when a put began, and is not when it looks, is put.
func TestPutOfWhatGoes(t *testing.T) {
	t.Parallel()
	e := storetest.New(t, "one", 100)
	for gone, want := range map[int]store.PutResult{1: store.Stored, 2: store.Stored, 3: store.Failed} {
		puts := 0
		m := &remotetest.Memory{Fault: func(_ context.Context, op remotetest.Op, _ string) error {
			if op == remotetest.Put {
				if puts++; puts <= gone {
					return remote.ErrExists
				}
			}
			return nil
		}}
		if res, err := remote.New(m, remote.Options{}).Put(t.Context(), e); res != want || (err != nil) != (want == store.Failed) {
			t.Errorf("gone %d times: %v, %v; want %v", gone, res, err, want)
		}
	}
}

// TestLimitOfSize: what is too large is not put, whether as it is or compressed, and not asked for.
func TestLimitOfSize(t *testing.T) {
	t.Parallel()
	m := new(remotetest.Memory)
	s := remote.New(m, remote.Options{MaxSize: 10_000})
	if res, err := s.Put(t.Context(), storetest.New(t, "large", 9900)); res != store.Failed || !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("%v, %v; its encoding is over the limit", res, err)
	}
	thin := storetest.New(t, "thin", 9900)
	clear(thin.Artifact.Binaries[0].Data)
	if res, err := s.Put(t.Context(), thin); res != store.Failed || !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("%v, %v; what it holds is over the limit", res, err)
	}
	if res, err := s.Put(t.Context(), storetest.New(t, "huge", 50_000)); res != store.Failed || !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("%v, %v", res, err)
	}
	if len(m.Names()) > 0 {
		t.Errorf("put: %v", m.Names())
	}
	e := storetest.New(t, "other", 20_000)
	clear(e.Artifact.Binaries[0].Data)
	if _, err := remote.New(m, remote.Options{}).Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if n := len(m.Object(m.Names()[0])); n > 10_000 {
		t.Fatalf("it takes %d bytes: the test is wrong", n)
	}
	if _, err := s.Get(t.Context(), e.Key); reasonOf(err) != reason.MissDigest {
		t.Errorf("what expands to over the limit: %v", err)
	}
}

// TestNothingOfTheMachineLeaves: recipes lose the places of headers, and their contents stay.
func TestNothingOfTheMachineLeaves(t *testing.T) {
	t.Parallel()
	content := []byte("#define SECRET 1")
	e := storetest.New(t, "one", 100)
	img, err := new(key.Image).Tracked([]key.Unit{{
		Kind: key.OpenCLC, Code: []byte("#include \"a.h\"\n"), Includes: []key.Include{{Name: `"a.h"`, File: 0}},
		Files: []key.File{{Path: "/home/somebody/a.h", Digest: sha256.Sum256(content), Size: int64(len(content))}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	e.Recipe.Image = img
	e.Recipe.Options.Search = []string{"-I", "/home/somebody"}
	e.Recipe.Options.Unkeyed = []key.Pair{{Name: "name", Value: "/home/somebody/x.cl"}}
	e.Headers = map[key.Digest][]byte{sha256.Sum256(content): content}
	e.Key = e.Recipe.Key()
	m := new(remotetest.Memory)
	s := remote.New(m, remote.Options{})
	if _, err := s.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if len(m.Names()) != 1 {
		t.Errorf("objects: %v", m.Names())
	}
	got, err := s.Fetch(t.Context(), e.Key)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%q", got.Recipe.Append(nil)); strings.Contains(text, "somebody") || strings.Contains(text, "SECRET") {
		t.Errorf("the recipe says %s", text)
	}
	if got.Recipe.Key() != e.Key {
		t.Error("the recipe is of another key")
	}
	if e.Recipe.Image.Units()[0].Files[0].Path != "/home/somebody/a.h" {
		t.Error("put changed the entry")
	}
}

// TestGetMany: each key is answered once, whatever the engine can, and what is asked for twice twice.
func TestGetMany(t *testing.T) {
	t.Parallel()
	m := new(remotetest.Memory)
	var keys []key.Key
	want := make(map[key.Key]int)
	for i := range 40 {
		e := storetest.New(t, fmt.Sprint(i), 100)
		keys = append(keys, e.Key)
		want[e.Key]++
		if i%4 == 0 {
			continue
		}
		if _, err := remote.New(m, remote.Options{}).Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	keys, want[keys[1]], want[keys[0]] = append(keys, keys[1], keys[0], keys[1]), 3, 2
	broken := keys[2]
	m.Set(remote.New(m, remote.Options{}).Name(broken), []byte("broken"))
	silent := errors.New("silent")
	for name, tt := range map[string]struct {
		o    remote.Objects
		fail bool
	}{
		"many at once":    {m, false},
		"one by one":      {oneByOne{m}, false},
		"stops half way":  {halfway{m, silent, false}, true},
		"leaves some out": {halfway{m, nil, false}, true},
		"answers twice":   {halfway{m, nil, true}, true},
	} {
		got := make(map[key.Key]int)
		hits, remoteMisses := 0, 0
		remote.New(tt.o, remote.Options{}).GetMany(t.Context(), keys, func(k key.Key, e *store.Entry, err error) {
			got[k]++
			switch {
			case reasonOf(err) == reason.MissRemote:
				remoteMisses++
			case slices.Index(keys, k)%4 == 0:
				if reasonOf(err) != reason.MissAbsent {
					t.Errorf("%s: %v, want %v", name, err, reason.MissAbsent)
				}
			case k == broken:
				if reasonOf(err) != reason.MissForeign {
					t.Errorf("%s: %v, want %v", name, err, reason.MissForeign)
				}
			case err != nil || e.Key != k || e.Recipe.Key() != k:
				t.Errorf("%s: %v", name, err)
			default:
				hits++
			}
		})
		if !maps.Equal(got, want) {
			t.Errorf("%s: the answers are %v", name, slices.Collect(maps.Values(got)))
		}
		if !tt.fail && hits != 31 || (remoteMisses > 0) != tt.fail {
			t.Errorf("%s: %d hits, %d times no answer", name, hits, remoteMisses)
		}
	}
}

// halfway gets half of what it is asked for.
type halfway struct {
	*remotetest.Memory
	err   error
	twice bool
}

func (h halfway) GetMany(ctx context.Context, names []string, limit int64, got func(string, []byte, error)) error {
	names = names[:len(names)/2]
	if h.twice {
		names = append(names, names...)
		names = append(names, "v1/default/nobody/asked")
	}
	if err := h.Memory.GetMany(ctx, names, limit, got); err != nil {
		return err
	}
	return h.err
}

// TestGetManyAtOnce: an engine that gets one by one is asked for 32 at a time.
func TestGetManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const trip, keys = 10 * time.Millisecond, 64
		m := &remotetest.Memory{Fault: remotetest.Slow(trip)}
		all := make([]key.Key, keys)
		for i := range all {
			all[i].Sum[0] = byte(i)
		}
		begin, n := time.Now(), 0
		remote.New(oneByOne{m}, remote.Options{}).GetMany(t.Context(), all, func(key.Key, *store.Entry, error) { n++ })
		if took := time.Since(begin); n != keys || took != keys/32*trip {
			t.Errorf("%d answers after %v, want %d after %v", n, took, keys, keys/32*trip)
		}
	})
}

// TestListOfOthers: what is damaged is listed as that, and what is no entry is not.
func TestListOfOthers(t *testing.T) {
	t.Parallel()
	m := new(remotetest.Memory)
	s := remote.New(m, remote.Options{})
	e := storetest.New(t, "one", 100)
	if _, err := s.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := s.PutBlob(t.Context(), store.Manifests, e.Key.Sum, nil); err != nil {
		t.Fatal(err)
	}
	good := m.Object(s.Name(e.Key))
	sum := strings.Repeat("0", 64)
	m.Set("v1/default/00/"+sum, []byte("broken"))
	m.Set("v1/default/00/"+strings.Repeat("0", 63)+"1", good)
	for _, name := range []string{"v1/default/00/" + sum[1:], "v1/default/01/" + sum, "v1/default/x", "v1/default/00/x/" + sum, "v1/other/00/" + sum, "v2/default/00/" + sum} {
		m.Set(name, good)
	}
	bad := make(map[string]reason.Reason)
	for i, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		bad[i.Location] = reasonOf(i.Bad)
		if i.Bad == nil && (i.Key != e.Key || i.Size != int64(len(good))) {
			t.Errorf("%+v", i)
		}
		if !strings.HasSuffix(i.Location, i.Key.Sum.String()) {
			t.Errorf("%s has key %s", i.Location, i.Key)
		}
	}
	want := map[string]reason.Reason{
		s.Name(e.Key): 0, "v1/default/00/" + sum: reason.MissForeign, "v1/default/00/" + strings.Repeat("0", 63) + "1": reason.MissCollision,
	}
	if d := cmp.Diff(want, bad); d != "" {
		t.Errorf("listed (-want +got):\n%s", d)
	}
}

// TestListEndsWithAnError: an engine that cannot go on, or cannot list, is told of.
func TestListEndsWithAnError(t *testing.T) {
	t.Parallel()
	m := &remotetest.Memory{Fault: func(_ context.Context, op remotetest.Op, _ string) error {
		if op == remotetest.List {
			return remote.ErrUnsupported
		}
		return nil
	}}
	var last error
	for _, last = range remote.New(m, remote.Options{}).List(t.Context()) {
	}
	if !errors.Is(last, remote.ErrUnsupported) {
		t.Errorf("%v", last)
	}
}

// TestCountsOfARemote: what a store counts by itself.
func TestCountsOfARemote(t *testing.T) {
	t.Parallel()
	m := new(remotetest.Memory)
	var counts stats.Counters
	s := remote.New(m, remote.Options{Recorder: &counts})
	e := storetest.New(t, "one", 100)
	for range 2 {
		if _, err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Get(t.Context(), e.Key); err != nil {
		t.Fatal(err)
	}
	size := int64(len(m.Object(s.Name(e.Key))))
	got := counts.Snapshot()
	want := stats.Snapshot{}
	want[stats.RemotePuts], want[stats.RemotePutsExisting], want[stats.RemoteBytesWritten], want[stats.RemoteBytesRead] = 1, 1, size, 2*size
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
}

// TestHasBlobAsksNobody: it answers from memory.
func TestHasBlobAsksNobody(t *testing.T) {
	t.Parallel()
	asked := 0
	m := &remotetest.Memory{Fault: func(context.Context, remotetest.Op, string) error { asked++; return nil }}
	a, b := remote.New(m, remote.Options{}), remote.New(m, remote.Options{})
	name := key.Digest(sha256.Sum256([]byte("name")))
	if err := a.PutBlob(t.Context(), store.Manifests, name, []byte("content")); err != nil {
		t.Fatal(err)
	}
	before := asked
	if !a.HasBlob(store.Manifests, name, 7) || a.HasBlob(store.Manifests, name, 8) || b.HasBlob(store.Manifests, name, 7) || asked != before {
		t.Errorf("who has put it does not know of it, or another does; %d calls", asked-before)
	}
	if _, err := b.GetBlob(t.Context(), store.Manifests, name); err != nil || !b.HasBlob(store.Manifests, name, 7) {
		t.Errorf("who has got it does not know of it: %v", err)
	}
	for i := range 5000 {
		if err := a.PutBlob(t.Context(), store.Manifests, sha256.Sum256(fmt.Append(nil, i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if a.HasBlob(store.Manifests, name, 7) {
		t.Error("it is remembered for ever")
	}
}
