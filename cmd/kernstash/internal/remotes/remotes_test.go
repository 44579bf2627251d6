package remotes

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/trust"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const secret = "hunter2"
	tests := []struct {
		addresses string
		names     []string
		err       string
	}{
		{"redis://u:" + secret + "@h:1/2?max-size=10,file://" + dir, []string{"redis://***@h:1/2", "file://" + dir}, ""},
		{"s3://bucket/prefix?endpoint=http://127.0.0.1:1&region=eu", []string{"s3://bucket/prefix"}, ""},
		{"https://u:" + secret + "@h/x", []string{"https://***@h/x"}, ""},
		{"redis://u:" + secret + "@h?unknown=1", nil, `remote redis://***@h: redis: the URL has an unknown parameter "unknown"`},
		{"s3://u:" + secret + "@bucket", nil, "remote s3://***@bucket: the URL of an S3 bucket: credentials do not belong there"},
		{"file://relative", nil, "remote file://relative: want file:///DIRECTORY"},
	}
	for _, tt := range tests {
		c, err := Config{Addresses: strings.Split(tt.addresses, ","), Tenant: "default", Timeout: time.Second}.Open(nil)
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", tt.addresses, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.addresses, err)
			continue
		}
		var got []string
		for _, tier := range c.Tiers {
			got = append(got, tier.Name)
		}
		if diff := cmp.Diff(tt.names, got); diff != "" || len(c.Far()) != len(got) {
			t.Errorf("%s (-want +got)\n%s", tt.addresses, diff)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := (Config{SignKey: filepath.Join(dir, "none.pem")}).Open(nil); err == nil || !strings.Contains(err.Error(), "setting remote-sign-key: ") {
		t.Errorf("%v", err)
	}
}

// chain returns remotes over engines in memory.
func chain(o remote.Options, all ...*remotetest.Memory) *Chain {
	c := &Chain{Tenant: "default", Trust: o.Trust, Sign: o.Sign, Timeout: time.Second}
	for i, m := range all {
		c.Tiers = append(c.Tiers, Tier{Name: fmt.Sprint("memory://", i), Objects: m, Store: remote.New(m, o)})
	}
	return c
}

func entry(t *testing.T, source, driver string, size int) *store.Entry {
	t.Helper()
	img, err := key.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	r := &key.Recipe{Device: key.Device{API: "opencl", Platform: "P", Name: "D", Driver: driver}, Image: img}
	return &store.Entry{Key: r.Key(), Recipe: r, Artifact: &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: bytes.Repeat([]byte(source[:1]), size)}}, Cost: time.Second, Created: time.Now(),
		Kernels: []store.Kernel{{Name: "k"}},
	}}
}

func TestUploader(t *testing.T) {
	t.Parallel()
	dead := func() *remotetest.Memory {
		return &remotetest.Memory{Fault: func(context.Context, remotetest.Op, string) error { return errors.New("dead") }}
	}
	full := func() *remotetest.Memory { return &remotetest.Memory{MaxBytes: 1} }
	good := func() *remotetest.Memory { return new(remotetest.Memory) }
	tests := []struct {
		name   string
		all    []*remotetest.Memory
		size   int
		want   spool.JobState
		second spool.JobState // when it is done again
	}{
		{"one", []*remotetest.Memory{good()}, 10, spool.JobStored, spool.JobThere},
		{"two", []*remotetest.Memory{good(), good()}, 10, spool.JobStored, spool.JobThere},
		{"dead", []*remotetest.Memory{dead()}, 10, spool.JobElsewhere, spool.JobElsewhere},
		{"one of two is dead", []*remotetest.Memory{dead(), good()}, 10, spool.JobElsewhere, spool.JobElsewhere},
		{"full", []*remotetest.Memory{full()}, 10, spool.JobElsewhere, spool.JobElsewhere},
		{"too large for all", []*remotetest.Memory{good(), good()}, 1 << 20, spool.JobRefused, spool.JobRefused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
			defer d.Close()
			e := entry(t, "x", "1", tt.size)
			if _, err := d.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			upload := Uploader(chain(remote.Options{MaxSize: 1 << 16}, tt.all...), d)
			for _, want := range []spool.JobState{tt.want, tt.second} {
				if out := upload(t.Context(), e.Key); out.State != want {
					t.Errorf("%+v, want %s", out, want)
				}
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if out := upload(ended, e.Key); out.State != spool.JobElsewhere {
				t.Errorf("by a worker that ends: %+v", out)
			}
			if out := upload(t.Context(), entry(t, "other", "1", 1).Key); out.State != spool.JobVoid {
				t.Errorf("of what is not there: %+v", out)
			}
			for _, m := range tt.all { // what can be reached has it
				if _, err := remote.New(m, remote.Options{}).Get(t.Context(), e.Key); m.Fault == nil && m.MaxBytes == 0 && tt.size < 1<<16 && err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestTwoVersions: an object of another version is a miss, and stays, whoever puts the entry anew; what
// another layout has is not even asked for.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	m := new(remotetest.Memory)
	c := chain(remote.Options{}, m)
	s, e := c.Tiers[0].Store, entry(t, "x", "1", 10)
	if _, err := s.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	name := s.Name(e.Key)
	b, err := m.Get(t.Context(), name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(name, "v1/default/") || binary.LittleEndian.Uint32(b[8:]) != 1 {
		t.Fatalf("%s, version %d", name, binary.LittleEndian.Uint32(b[8:]))
	}
	for _, version := range []uint32{0, 2} {
		other := bytes.Clone(b)
		binary.LittleEndian.PutUint32(other[8:], version)
		if err := m.Put(t.Context(), name, other, true); err != nil {
			t.Fatal(err)
		}
		var miss *store.MissError
		if _, err := s.Get(t.Context(), e.Key); !errors.As(err, &miss) || miss.Reason != reason.MissVersion {
			t.Errorf("version %d: %v", version, err)
		}
		if out := c.upload(t.Context(), e); out.State != spool.JobRefused {
			t.Errorf("version %d: upload %+v", version, out)
		}
		if there, err := m.Get(t.Context(), name, 1<<20); err != nil || !bytes.Equal(there, other) {
			t.Errorf("version %d was replaced: %v", version, err)
		}
	}
	if err := m.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := m.Put(t.Context(), "v0"+name[2:], b, true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), e.Key); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("of an earlier layout: %v", err)
	}
}

// TestFarSigns: who asks for signatures and cannot sign puts nothing.
func TestFarSigns(t *testing.T) {
	t.Parallel()
	_, signs, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	list := trust.Of(signs.Public().(ed25519.PublicKey))
	for name, tt := range map[string]struct {
		o        remote.Options
		readOnly bool
	}{
		"neither":        {},
		"signs":          {o: remote.Options{Sign: signs}},
		"asks":           {o: remote.Options{Trust: list}, readOnly: true},
		"signs and asks": {o: remote.Options{Sign: signs, Trust: list}},
	} {
		c := chain(tt.o, new(remotetest.Memory), new(remotetest.Memory))
		for _, far := range c.Far() {
			if far.ReadOnly != tt.readOnly {
				t.Errorf("%s: read-only %v", name, far.ReadOnly)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestGCSelects(t *testing.T) {
	t.Parallel()
	_, signs, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := new(remotetest.Memory)
	signed := remote.Options{Sign: signs, Trust: trust.Of(signs.Public().(ed25519.PublicKey))}
	c := chain(signed, m)
	put := func(o remote.Options, e *store.Entry) string {
		s := remote.New(m, o)
		if _, err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		return s.Name(e.Key)
	}
	raw := func(name, content string) string {
		if err := m.Put(t.Context(), name, []byte(content), true); err != nil {
			t.Fatal(err)
		}
		return name
	}
	old, young := put(signed, entry(t, "a", "570.1", 1)), put(signed, entry(t, "b", "580.2", 1))
	unsigned := put(remote.Options{}, entry(t, "c", "580.2", 1))
	if err := c.Tiers[0].Store.PutBlob(t.Context(), store.Manifests, key.Digest{7}, []byte("m")); err != nil {
		t.Fatal(err)
	}
	manifest := c.Tiers[0].Store.ManifestName(key.Digest{7})
	damaged := raw(c.Tiers[0].Store.Name(key.Key{Sum: key.Digest{9}}), "no object")
	newer := put(signed, entry(t, "d", "590.1", 1))
	b, err := m.Get(t.Context(), newer, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(b[8:], 2)
	raw(newer, string(b))
	earlier := raw("v0/default/00/abc", "of an earlier version")
	later := raw("v2/default/00/abc", "of a later one")
	for _, name := range []string{put(remote.Options{Tenant: "blue"}, entry(t, "a", "570.1", 1)), raw("v0/blue/00/x", "x")} {
		defer func() { // none of it ever goes
			if _, err := m.Get(t.Context(), name, 1<<20); err != nil {
				t.Errorf("%s of another tenant: %v", name, err)
			}
		}()
	}
	tests := []struct {
		name string
		o    GCOptions
		want []string
	}{
		{"driver", GCOptions{Selection: Selection{Filters: []string{"driver=570"}}}, []string{old}},
		{"device", GCOptions{Selection: Selection{Filters: []string{"device=d"}}}, []string{old, young}},
		{"key", GCOptions{Selection: Selection{Filters: []string{"key=" + young[len(young)-64:][:8]}}}, []string{young}},
		{"bad", GCOptions{Bad: true}, []string{unsigned, damaged}},
		{"other versions", GCOptions{Versions: true}, []string{earlier, later, newer}},
		{"young", GCOptions{OlderThan: time.Hour}, nil},
		{"young other versions", GCOptions{Versions: true, OlderThan: time.Hour}, nil},
		{"all", GCOptions{All: true}, []string{old, young, unsigned, manifest, damaged, newer}},
	}
	for _, tt := range tests {
		var r collected
		got, err := c.selected(t.Context(), c.Tiers[0], tt.o, mustFilter(t, tt.o.Filters), &r, func(int64) {})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(sorted(tt.want), namesOf(got)); diff != "" || int(r.Removed) != len(got) {
			t.Errorf("%s: %d (-want +got)\n%s", tt.name, r.Removed, diff)
		}
	}
	// What is too large for us is not bad: others have a larger limit.
	small := signed
	small.MaxSize = 300
	got, err := chain(small, m).selected(t.Context(), chain(small, m).Tiers[0], GCOptions{Bad: true}, nil, new(collected), func(int64) {})
	if diff := cmp.Diff([]string{damaged}, namesOf(got)); diff != "" || err != nil {
		t.Errorf("with a limit of 300 bytes: %v (-want +got)\n%s", err, diff)
	}
	// All of the tenant, and nothing else.
	got, err = c.selected(t.Context(), c.Tiers[0], GCOptions{All: true}, nil, new(collected), func(int64) {})
	if err == nil {
		err = remove(t.Context(), c.Tiers[0], got, new(collected), func(int64) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	counts, err := c.count(t.Context(), c.Tiers[0], true)
	want := []counted{
		{"memory://0", "blue", "v0", 1, 0, 0, 1},
		{"memory://0", "default", "v0", 1, 0, 0, 21},
		{"memory://0", "blue", "v1", 1, 0, 0, 0},
		{"memory://0", "default", "v1", 0, 0, 0, 0},
		{"memory://0", "default", "v2", 1, 0, 0, 14},
	}
	for i := range counts {
		if counts[i].Layout == "v1" {
			counts[i].Bytes = 0
		}
	}
	if diff := cmp.Diff(want, counts); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestGCBadNeedsTrust: where no list of keys can be read all is bad, and stays.
func TestGCBadNeedsTrust(t *testing.T) {
	t.Parallel()
	m := new(remotetest.Memory)
	c := chain(remote.Options{Trust: trust.Open(t.TempDir(), true)}, m)
	if _, err := c.Tiers[0].Store.Put(t.Context(), entry(t, "a", "570.1", 1)); err != nil {
		t.Fatal(err)
	}
	a, _ := app()
	if err := c.gc(t.Context(), a, GCOptions{Bad: true, Yes: true}, nil); err == nil || !strings.Contains(err.Error(), "nothing is trusted: list of trusted keys") {
		t.Errorf("%v", err)
	}
	if n := len(m.Names()); n != 1 {
		t.Errorf("%d objects are left", n)
	}
}

// TestGCPartly: what was removed is said, although the rest could not be.
func TestGCPartly(t *testing.T) {
	t.Parallel()
	var deleted atomic.Int32
	good, bad := new(remotetest.Memory), new(remotetest.Memory)
	bad.Fault = func(_ context.Context, op remotetest.Op, _ string) error {
		if op == remotetest.Delete && deleted.Add(1) > 3 {
			return errors.New("refused")
		}
		return nil
	}
	c := chain(remote.Options{}, good, bad)
	for i := range 40 {
		for _, m := range []*remotetest.Memory{good, bad} {
			m.Set(fmt.Sprintf("v1/default/m/%d", i), []byte("12345"))
		}
	}
	a, out := app()
	a.JSON = true
	if err := c.gc(t.Context(), a, GCOptions{All: true, Yes: true}, nil); err == nil || err.Error() != "memory://1: refused" {
		t.Errorf("%v", err)
	}
	var got []collected
	want := []collected{{"memory://0", "default", 40, 40, 200, false}, {"memory://1", "default", 40, 3, 15, false}}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || cmp.Diff(want, got) != "" || len(bad.Names()) != 37 {
		t.Errorf("%v, %s, %d left", err, out, len(bad.Names()))
	}
}

type noProgress struct{}

func (noProgress) Counting(string, int64) func(int64) { return func(int64) {} }

// TestPullOfSlow: what comes slowly comes; where nothing does pull ends, however many keys there are.
func TestPullOfSlow(t *testing.T) {
	t.Parallel()
	var sums []key.Digest
	for i := range 200 {
		sums = append(sums, key.Digest{byte(i)})
	}
	synctest.Test(t, func(t *testing.T) {
		m := &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, name string) error {
			if op == remotetest.Get {
				return remotetest.Slow(putTimeout-time.Second)(ctx, op, name)
			}
			return nil
		}}
		pulled, absent, _, err := pullFrom(t.Context(), chain(remote.Options{}, m).Tiers[0], nil, sums, nil, false, noProgress{})
		if err != nil || pulled.Failed != 0 || len(absent) != len(sums) {
			t.Errorf("slow: %+v, %d absent, %v", pulled, len(absent), err)
		}
		m.Fault = remotetest.Hang
		begin := time.Now()
		pulled, _, _, err = pullFrom(t.Context(), chain(remote.Options{}, m).Tiers[0], nil, sums, nil, false, noProgress{})
		if took := time.Since(begin); !errors.Is(err, errLate) || took != putTimeout || pulled.Failed != getsAtOnce {
			t.Errorf("hanging: %+v, %v, after %v", pulled, err, took)
		}
	})
}

// TestEveryName: what answers with success to everything is no remote.
func TestEveryName(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"", "x", "<html>log in</html>"} {
		m := new(remotetest.Memory)
		c := chain(remote.Options{}, m)
		m.Set(c.Tiers[0].Store.Name(key.Key{}), []byte(page))
		if err := c.reach(t.Context(), c.Tiers[0]); err == nil || !strings.Contains(err.Error(), "every name") {
			t.Errorf("%q: reach: %v", page, err)
		}
		c.Tiers[0].Objects = everything{m, page}
		if p := c.ping(t.Context(), c.Tiers[0]); !strings.Contains(p.Read, "every name") {
			t.Errorf("%q: ping: %+v", page, p)
		}
	}
}

type everything struct {
	*remotetest.Memory
	page string
}

func (e everything) Get(_ context.Context, _ string, limit int64) ([]byte, error) {
	if int64(len(e.page)) > limit {
		return nil, remote.ErrTooLarge
	}
	return []byte(e.page), nil
}

func TestPing(t *testing.T) {
	t.Parallel()
	refuse := func(refused ...remotetest.Op) func(context.Context, remotetest.Op, string) error {
		return func(_ context.Context, op remotetest.Op, _ string) error {
			for _, r := range refused {
				if op == r {
					return errors.New("403")
				}
			}
			return nil
		}
	}
	tests := []struct {
		name string
		m    *remotetest.Memory
		want pingedTier
	}{
		{"good", new(remotetest.Memory), pingedTier{Read: ok, Write: ok, List: ok, Leases: ok}},
		{
			"read-only", &remotetest.Memory{Fault: refuse(remotetest.Put, remotetest.Delete, remotetest.Acquire)},
			pingedTier{Read: ok, Write: "403", List: ok, Leases: "403"},
		},
		{"nothing is deleted", &remotetest.Memory{Fault: refuse(remotetest.Delete)}, pingedTier{Read: ok, Write: "written, but not deleted: 403", List: ok, Leases: ok}},
		{"it lies", &remotetest.Memory{Change: func(string, []byte) []byte { return []byte("?") }}, pingedTier{Read: ok, Write: "what was written reads back as something else", List: ok, Leases: ok}},
		{"refused", &remotetest.Memory{Fault: refuse(remotetest.Get)}, pingedTier{Read: "403", Write: "not asked", List: "not asked", Leases: "not asked"}},
		{"hangs", &remotetest.Memory{Fault: remotetest.Hang}, pingedTier{Read: "no answer in time", Write: "not asked", List: "not asked", Leases: "not asked"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := chain(remote.Options{}, tt.m)
			if tt.name == "hangs" {
				c.Timeout = 10 * time.Millisecond
			}
			got := c.ping(t.Context(), c.Tiers[0])
			got.Remote, got.TripMS, got.SkewSec = "", 0, nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if tt.want.Write != ok {
				return
			}
			for o := range tt.m.List(t.Context(), "") {
				t.Errorf("left: %s", o.Name)
			}
		})
	}
}

func TestSkew(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	for written, want := range map[time.Duration]time.Duration{
		0: 0, 10 * time.Millisecond: 0, time.Second: 0, -time.Second: 0,
		time.Minute: time.Minute - 20*time.Millisecond, -time.Minute: -time.Minute,
	} {
		if got := skew(at, at.Add(20*time.Millisecond), at.Add(written)); got != want {
			t.Errorf("%v: %v, want %v", written, got, want)
		}
	}
}

// TestWhoSignsIsTrusted: what nobody here would read is said by ping.
func TestWhoSignsIsTrusted(t *testing.T) {
	t.Parallel()
	_, mine, _ := ed25519.GenerateKey(nil)
	_, other, _ := ed25519.GenerateKey(nil)
	list := trust.Of(mine.Public().(ed25519.PublicKey))
	for _, tt := range []struct {
		c    *Chain
		good bool
	}{{&Chain{}, true}, {&Chain{Sign: other}, true}, {&Chain{Sign: mine, Trust: list}, true}, {&Chain{Trust: list}, true}, {&Chain{Sign: other, Trust: list}, false}} {
		if got := tt.c.problem(); (got == "") != tt.good {
			t.Errorf("%+v: %s", tt.c, got)
		}
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("0a", 32), strings.Repeat("ff", 32)
	tests := []struct {
		text string
		want int
		err  string
	}{
		{"", 0, ""},
		{"# all\n\n" + one + "\n  " + two + " kernel one\n" + one + "\n", 2, ""},
		{one + "# the last line has no end", 1, ""},
		{one[1:], 0, "--keys f: line 1: parse digest"},
		{"\n\nx\n", 0, "--keys f: line 3: "},
		{strings.Repeat("a", 1<<20), 0, "--keys f: "},
		{one + strings.Repeat("\n# more", maxKeys/7), 0, "--keys f: more than 16.0 MiB"},
	}
	for _, tt := range tests {
		got, err := parseKeys(strings.NewReader(tt.text), "f")
		if len(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%.20q: %d, %v", tt.text, len(got), err)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte("# x\n" + strings.Repeat("0a", 32) + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := parseKeys(bytes.NewReader(b), "f")
		if err != nil && all != nil {
			t.Error("keys beside an error")
		}
		for _, k := range all {
			if !bytes.Contains(bytes.ToLower(b), []byte(k.String())) {
				t.Errorf("%s is not there", k)
			}
		}
	})
}

// What to do is said where it is known.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]string{
		"no answer in time": "remote-timeout",
		"dial tcp 127.0.0.1:1: connect: connection refused":                                "is the server running",
		"dial tcp: lookup cache.invalid on 10.0.0.1:53: no such host":                      "is the name right",
		"the server answers 404 NoSuchBucket: The specified bucket does not exist.":        "make the bucket",
		"the server answers 403 InvalidAccessKeyId":                                        "where credentials are looked for",
		"permission denied: WRONGPASS invalid username-password pair or user is disabled":  "where credentials are looked for",
		"permission denied: NOPERM this user has no permissions":                           "which rights",
		"the server answers 403 AccessDenied: Access Denied.":                              "which rights",
		"tls: failed to verify certificate: x509: certificate signed by unknown authority": "ca-file",
		"the server does not speak Redis's protocol":                                       "rediss://",
	} {
		if got := advice(says); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want …%s…", says, got, want)
		}
	}
	if got := advice("the server answers 500"); got != "" {
		t.Errorf("of nothing known: %q", got)
	}
}
