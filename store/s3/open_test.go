package s3_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/needs/versitygw"
	"github.com/kernstash/kernstash/store/s3"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ url, want, err string }{
		{"s3://bucket", "s3://bucket/", ""},
		{"s3://bucket/", "s3://bucket/", ""},
		{"s3://bucket/a/b/", "s3://bucket/a/b", ""},
		{"s3://bucket/a?endpoint=http://127.0.0.1:1&region=eu-west-1&path-style=0&anonymous=1", "s3://bucket/a", ""},
		{"http://bucket", "", `it begins with "http", not s3`},
		{"s3://", "", "it names no bucket"},
		{"s3://host:9000/bucket", "", "it names no bucket"},
		{"s3://bucket#a", "", "fragment"},
		{"s3://sesame:open@bucket", "", "credentials do not belong there"},
		{"s3://bucket?secret=sesame", "", `it has no parameter "secret"`},
		{"s3://bucket?path-style=maybe", "", "path-style: want 0 or 1"},
		{"s3://bucket?anonymous=", "", "anonymous: want 0 or 1"},
		{"s3://bucket?region=a&region=b", "", `"region" is there twice`},
		{"s3://bucket?user:sesame@host", "", "it has no parameter of such a name"},
		{"s3://bucket?endpoint=127.0.0.1:9000", "", "endpoint: want http://HOST:PORT"},
		{"s3://bucket?endpoint=https://u:sesame@h", "", "endpoint: want http://HOST:PORT"},
		{"s3://bucket?endpoint=https://h/path", "", "endpoint: want http://HOST:PORT"},
		{"s3://bucket?ca=" + filepath.Join(dir, "none.pem"), "", "none.pem"},
		{"s3://bucket?ca=" + empty, "", "holds none (PEM)"},
		{"s3://bucket?endpoint=http://h&ca=" + empty, "", "ca: the endpoint is http://, which has no certificate"},
		{"s3://bucket?%zz=sesame", "", "what follows the question mark"},
		{"s3://bucket/%zzsesame", "", "it cannot be parsed"},
	} {
		o, err := s3.Open(test.url, fakeKeys)
		if test.err == "" {
			if err != nil || o.String() != test.want {
				t.Errorf("%s: %v, %v", test.url, o, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %s", test.url, err, test.err)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: the error holds a secret: %v", test.url, err)
		}
	}
}

// Whatever a URL holds, an error tells nothing of its credentials.
func FuzzOpen(f *testing.F) {
	f.Add("s3://", "@bucket/prefix?endpoint=http://127.0.0.1:1&region=r")
	f.Add("s3://bucket?endpoint=http://", "@host")
	f.Add("s3://bucket?region=%zz&endpoint=", "")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "user:sesame-6b1f"
		_, err := s3.Open(before+secret+after, fakeKeys)
		if err != nil && strings.Contains(err.Error(), "@") && strings.Contains(err.Error(), "sesame-6b1f") {
			t.Error(err)
		}
	})
}

// The environment says what a URL leaves out.
func TestOpenByEnvironment(t *testing.T) {
	f := newFake(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", s3.Host(open(t, f.url, fakeKeys)))
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "sesame")
	o := open(t, "s3://bucket", s3.Options{})
	if err := o.Put(within(t), "name", []byte("b"), false); err != nil {
		t.Fatal(err)
	}
	if keys, err := s3.Keys(o); err != nil || keys != (s3.Options{AccessKey: "id", SecretKey: "sesame"}) {
		t.Errorf("%v, %v", keys, err)
	}
}

func TestSharedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	content := "[default]\naws_access_key_id = other\naws_secret_access_key = other\n[kernstash]\naws_access_key_id = id\naws_secret_access_key = sesame\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	without(t)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_PROFILE", "kernstash")
	if keys, err := s3.Keys(open(t, newFake(t).url, s3.Options{})); err != nil || keys != (s3.Options{AccessKey: "id", SecretKey: "sesame"}) {
		t.Errorf("%v, %v", keys, err)
	}
	// A file that is none tells nothing of what it holds.
	if err := os.WriteFile(file, []byte("[kernstash]\nsesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, newFake(t).url, s3.Options{}).Get(within(t), "name", 1)
	if !errors.Is(err, s3.ErrNoCredentials) || strings.Contains(err.Error(), "sesame") {
		t.Errorf("%v", err)
	}
}

// without removes all credentials that this machine may have.
func without(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// TestProxyRefuses: what a proxy writes, which may be what it was sent, is not shown. net/http looks at the
// environment once, so a process of its own asks.
func TestProxyRefuses(t *testing.T) {
	const inside = "KERNSTASH_TEST_PROXY"
	if os.Getenv(inside) != "" {
		_, err := open(t, "s3://bucket?endpoint=https://objects.test", fakeKeys).Get(within(t), "name", 1)
		t.Fatalf("error: %v", err)
	}
	t.Parallel()
	proxy := listen(t, func(c net.Conn) {
		b := make([]byte, 1<<16)
		n, _ := c.Read(b)
		_, sent, _ := strings.Cut(string(b[:n]), "Proxy-Authorization: Basic ")
		sent, _, _ = strings.Cut(sent, "\r\n")
		io.WriteString(c, "HTTP/1.1 407 "+sent+"\r\n\r\n")
	})
	cmd := exec.Command(os.Args[0], "-test.run=^TestProxyRefuses$", "-test.count=1")
	cmd.Env = append(os.Environ(), inside+"=1", "NO_PROXY=", "no_proxy=", "https_proxy=", "HTTPS_PROXY=user:topsecret@"+proxy)
	out, _ := cmd.CombinedOutput()
	if text := string(out); !strings.Contains(text, "the proxy answers 407 Proxy Authentication Required") || strings.Contains(text, "dXNlcjp0b3BzZWNyZXQ") {
		t.Errorf("%s", text)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificate(t, cert, key)
	server := versitygw.Start(t, "-cert", cert, "-key", key)
	address := server.URL("bucket")
	trusting := open(t, address+"&ca="+cert, keys(server.User))
	var e *s3.Error
	if _, err := trusting.Get(within(t), "name", 1); !errors.As(err, &e) || e.Code != "NoSuchBucket" {
		t.Errorf("with its certificate: %v", err)
	}
	_, err := open(t, address, keys(server.User)).Get(within(t), "name", 1)
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) {
		t.Errorf("without its certificate: %v", err)
	}
}

// certificate writes one of 127.0.0.1, which signs itself, and its key.
func certificate(t *testing.T, cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
