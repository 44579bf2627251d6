package s3_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/minio/minio-go/v7"

	"github.com/kernstash/kernstash/internal/needs/versitygw"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

// entry returns one whose object has some 50 KB.
func entry(t testing.TB, seed string) *store.Entry {
	e := storetest.New(t, seed, 0)
	random := rand.NewChaCha8(sha256.Sum256([]byte(seed)))
	e.Artifact.Binaries[0].Data = make([]byte, 50_000)
	random.Read(e.Artifact.Binaries[0].Data)
	return e
}

// A hit of 50 KB takes at most 1.5 times a bare GetObject of the client with the verification and
// the decompression of the same bytes.
func TestTimingHit(t *testing.T) {
	timing.Only(t)
	ctx := within(t)
	server := versitygw.Start(t)
	bucket := server.Bucket(t, "")
	private, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	public := private.Public().(ed25519.PublicKey)
	st := remote.New(open(t, server.URL(bucket), keys(server.User)), remote.Options{Sign: private, Trust: trust.Of(public)})
	e := entry(t, "hit")
	if _, err := st.Put(ctx, e); err != nil {
		t.Fatal(err)
	}

	// The same bytes without a store: the payload, its signature beside it.
	client := server.Client(t, server.User)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	code := e.Artifact.Binaries[0].Data
	payload := encoder.EncodeAll(code, nil)
	digest := sha256.Sum256(payload)
	message := append(make([]byte, 300), digest[:]...) // as long as what the store signs
	signature := ed25519.Sign(private, message)
	if _, err := client.PutObject(ctx, bucket, "bare", bytes.NewReader(payload), int64(len(payload)), minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	bare := func() {
		o, err := client.GetObject(ctx, bucket, "bare", minio.GetObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(o)
		if err != nil {
			t.Fatal(err)
		}
		o.Close()
		if sha256.Sum256(b) != digest || !ed25519.Verify(public, message, signature) {
			t.Fatal("it is something else")
		}
		if b, err = decoder.DecodeAll(b, nil); err != nil || !bytes.Equal(b, code) {
			t.Fatal(err)
		}
	}
	hit := func() {
		got, err := st.Get(ctx, e.Key)
		if err != nil || !bytes.Equal(got.Artifact.Binaries[0].Data, code) {
			t.Fatal(err)
		}
	}
	const rounds = 600
	var hits, bares []time.Duration
	for i := range rounds + 50 {
		h, b := timeOf(hit), timeOf(bare)
		if i >= 50 {
			hits, bares = append(hits, h), append(bares, b)
		}
	}
	h, b := percentile(hits, 50), percentile(bares, 50)
	t.Logf("a hit of 50 KB: p50 %v, p99 %v; bare: p50 %v, p99 %v; %.2f times", h, percentile(hits, 99), b, percentile(bares, 99), float64(h)/float64(b))
	if float64(h) > 1.5*float64(b) {
		t.Errorf("a hit takes %v, a bare GetObject %v", h, b)
	}
}

func timeOf(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[(len(all)-1)*p/100]
}

// TestTimingPrefetch: what an application is known to use, 200 entries of 50 KB, takes at most 100 ms
// where a round trip takes 10 ms, with the list of it, and from the first connection on.
func TestTimingPrefetch(t *testing.T) {
	timing.Only(t)
	ctx := within(t)
	server := versitygw.Start(t)
	bucket := server.Bucket(t, "")
	private, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	signed := remote.Options{Sign: private, Trust: trust.Of(private.Public().(ed25519.PublicKey))}
	near := remote.New(open(t, server.URL(bucket), keys(server.User)), signed)
	var all []key.Key
	var sums []key.Digest
	for i := range 200 {
		e := entry(t, strconv.Itoa(i))
		if _, err := near.Put(ctx, e); err != nil {
			t.Fatal(err)
		}
		all, sums = append(all, e.Key), append(sums, e.Key.Sum)
	}
	if put, err := near.PutApp(ctx, "app", sums, nil); err != nil || put.Listed != 200 || put.Packed < 200*50_000 {
		t.Fatalf("%+v, %v", put, err)
	}
	at, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	address := "s3://" + bucket + "?endpoint=http://" + delayed(t, at.Host, 10*time.Millisecond)
	came := 0
	got := func(_ key.Key, e *store.Entry, err error) {
		if came++; err != nil || len(e.Artifact.Binaries[0].Data) != 50_000 {
			t.Error(err)
		}
	}
	prefetch := func(st *remote.Store) {
		list, err := st.App(ctx, "app")
		if err != nil {
			t.Fatal(err)
		}
		st.GetApp(ctx, "app", list, true, got, nil)
	}
	fresh := func() *remote.Store { return remote.New(open(t, address, keys(server.User)), signed) }
	cold, warm, apart := time.Hour, time.Hour, time.Hour
	for range 10 {
		st := fresh()
		came = 0
		cold = min(cold, timeOf(func() { prefetch(st) }))
		warm = min(warm, timeOf(func() { prefetch(st) }))
		apart = min(apart, timeOf(func() { fresh().GetMany(ctx, all, got) }))
		if came != 600 {
			t.Fatalf("%d came", came)
		}
	}
	alone := timeOf(func() {
		st := fresh()
		for _, k := range all[:50] {
			if _, err := st.Get(ctx, k); err != nil {
				t.Fatal(err)
			}
		}
	}) * 4
	t.Logf("200 entries of 50 KB, 10 ms away: %v, with connections there already %v; without a pack %v, one by one %v", cold, warm, apart, alone)
	if cold > 100*time.Millisecond {
		t.Errorf("200 entries take %v, want at most 100 ms", cold)
	}
}

// delayed returns the address of a proxy to a server, which keeps what it is sent by either side
// for half of a round trip. A new connection takes a round trip, too.
func delayed(t *testing.T, server string, roundTrip time.Duration) string {
	type chunk struct {
		due time.Time
		b   []byte
	}
	pass := func(to, from net.Conn) {
		chunks := make(chan chunk, 1<<12)
		go func() {
			defer close(chunks)
			for {
				b := make([]byte, 64<<10)
				n, err := from.Read(b)
				if n > 0 {
					chunks <- chunk{time.Now().Add(roundTrip / 2), b[:n]}
				}
				if err != nil {
					return
				}
			}
		}()
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.b); err != nil {
				break
			}
		}
		to.Close()
		from.Close()
		for range chunks {
		}
	}
	return listen(t, func(c net.Conn) {
		time.Sleep(roundTrip)
		up, err := net.Dial("tcp", strings.TrimPrefix(server, "http://"))
		if err != nil {
			return
		}
		go pass(up, c)
		pass(c, up)
	})
}
