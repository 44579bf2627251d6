package redis

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/store/remote"
)

// works checks that a server can be used: what is put is got, one by one and many at a time,
// and listed; leases work.
func works(t *testing.T, o *Objects) {
	t.Helper()
	ctx := within(t)
	var names []string
	for i := range 100 {
		name := fmt.Sprintf("v1/works/%d", i)
		names = append(names, name)
		put(t, o, name, name)
		if b, err := o.Get(ctx, name, 100); string(b) != name {
			t.Fatalf("get %s: %q, %v", name, b, err)
		}
	}
	n := 0
	if err := o.GetMany(ctx, names, 100, func(name string, b []byte, err error) {
		if n++; string(b) != name {
			t.Errorf("get many: %s: %q, %v", name, b, err)
		}
	}); err != nil || n != 100 {
		t.Errorf("get many: %d, %v", n, err)
	}
	n = 0
	for _, err := range o.List(ctx, "v1/works/") {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 100 {
		t.Errorf("%d objects are listed, want 100", n)
	}
	for i := range 5 {
		name := fmt.Sprint("lease/works/", i)
		l, err := o.Acquire(ctx, name, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Acquire(ctx, name, time.Hour); !errors.Is(err, remote.ErrHeld) {
			t.Errorf("acquire again: %v", err)
		}
		if err := l.Renew(ctx, time.Hour); err != nil {
			t.Error(err)
		}
		if err := l.Release(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t, "--requirepass", "p/w")
	works(t, open(t, "unix://:p%2Fw@"+s.Socket+"?db=3", Options{}))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	c, other := servers.NewCertificates(t), servers.NewCertificates(t)
	s := servers.StartRedis(t, "--port", "0", "--tls-port", "PORT", "--tls-auth-clients", "yes",
		"--tls-cert-file", c.Cert, "--tls-key-file", c.Key, "--tls-ca-cert-file", c.CA)
	url := func(ca, cert, key string) string {
		return fmt.Sprintf("rediss://%s?ca-file=%s&cert-file=%s&key-file=%s", s.Addr, ca, cert, key)
	}
	works(t, open(t, url(c.CA, c.Cert, c.Key), Options{}))
	for what, bad := range map[string]string{
		"a certificate of another authority": url(c.CA, other.Cert, other.Key),
		"no certificate":                     url(c.CA, "", ""),
		"another authority":                  url(other.CA, c.Cert, c.Key),
		"the system's authorities":           url("", c.Cert, c.Key),
		"another name":                       strings.Replace(url(c.CA, c.Cert, c.Key), "127.0.0.1", "localhost", 1),
		"no TLS":                             "redis://" + s.Addr,
	} {
		o := open(t, bad, Options{})
		if _, err := o.Get(within(t), "v1/works/1", 100); err == nil || errors.Is(err, remote.ErrNotFound) {
			t.Errorf("%s: get: %v", what, err)
		}
	}
	if _, err := Open(url(c.Key, c.Cert, c.Key), Options{}); err == nil || !strings.Contains(err.Error(), "ca-file") {
		t.Errorf("a key as an authority: %v", err)
	}
	if _, err := Open(url(c.CA, c.Cert, other.Key), Options{}); err == nil || !strings.Contains(err.Error(), other.Key) {
		t.Errorf("a key of another certificate: %v", err)
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t, "--requirepass", "secret")
	_, port, _ := net.SplitHostPort(s.Addr)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "sentinel monitor main 127.0.0.1 %s 1\nsentinel auth-pass main secret\n", port), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := servers.StartRedis(t, conf, "--sentinel", "--requirepass", "sp")
	o := open(t, "redis://:secret@"+sentinel.Addr+"/2?sentinel-master=main&sentinel-password=sp&addr="+servers.Refusing(t), Options{})
	works(t, o)
	if got, want := o.String(), "/main/2"; !strings.HasSuffix(got, want) {
		t.Errorf("it is %s, want …%s", got, want)
	}
	bad := open(t, "redis://:secret@"+sentinel.Addr+"?sentinel-master=other&sentinel-password=sp", Options{})
	if _, err := bad.Get(within(t), "v1/works/1", 100); err == nil || errors.Is(err, remote.ErrNotFound) {
		t.Errorf("get from a server that the sentinel does not know: %v", err)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	args := []string{"--cluster-enabled", "yes", "--cluster-port", "PORT2", "--cluster-node-timeout", "30000"}
	a, b := servers.StartRedis(t, args...), servers.StartRedis(t, args...)
	a.Do(t, "CLUSTER ADDSLOTSRANGE 0 8191")
	b.Do(t, "CLUSTER ADDSLOTSRANGE 8192 16383")
	b.Do(t, "CLUSTER SET-CONFIG-EPOCH 2")
	_, port, _ := net.SplitHostPort(b.Addr)
	bus := b.Lines(t, "CONFIG GET cluster-port")
	a.Do(t, "CLUSTER MEET 127.0.0.1 "+port+" "+bus[len(bus)-1])
	for _, s := range []*servers.RedisServer{a, b} {
		addUsers(t, s, " +cluster|slots +cluster|shards +command")
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if info := strings.Join(s.Lines(t, "CLUSTER INFO"), "\n"); strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_size:2") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the cluster does not come about")
			}
		}
	}
	works(t, open(t, "redis://"+a.Addr+"?cluster=true", Options{}))
	works(t, open(t, "redis://"+servers.Refusing(t)+"?addr="+b.Addr, Options{}))

	node := open(t, "redis://node:secret@"+b.Addr+"?cluster=true", Options{})
	for i := range 20 {
		name := fmt.Sprint("v1/works/", i)
		if b, err := node.Get(within(t), name, 100); string(b) != name {
			t.Errorf("a node that only reads: get %s: %q, %v", name, b, err)
		}
		if err := node.Put(within(t), name, []byte("bad"), true); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a node that only reads: put %s: %v", name, err)
		}
	}
	l, err := node.Acquire(within(t), "lease/works/node", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Renew(within(t), time.Hour); err != nil {
		t.Error(err)
	}
}
