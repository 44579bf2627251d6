// Package versitygw starts a real S3 server for tests.
package versitygw

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// Server is one that runs.
type Server struct {
	Endpoint string // http://HOST:PORT
	User            // its root
}

// User is an account of a server.
type User struct{ AccessKey, SecretKey string }

// Start returns a server that ends with the test. Where make s3server was not called, which
// takes a minute, it skips the test. args are flags of test/s3server.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	program := filepath.Join(root(t), "bin", "s3server")
	if _, err := os.Stat(program); err != nil {
		t.Skip("NOT RUN: there is no bin/s3server: make s3server")
	}
	s := &Server{User: User{"root", rand.Text()}}
	cmd := exec.Command(program, append(slices.Clone(args), t.TempDir())...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.AccessKey, "ROOT_SECRET_KEY="+s.SecretKey)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // it ends
		cmd.Wait()
	})
	var address string
	for lines := bufio.NewScanner(stdout); address == "" && lines.Scan(); {
		if at, told := strings.CutPrefix(lines.Text(), "address "); told {
			address = at
		}
	}
	if address == "" {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("%s does not tell its address\n%s", program, stderr.String())
	}
	go io.Copy(io.Discard, stdout)
	s.Endpoint = "http://" + address
	for i, arg := range args {
		if arg == "-cert" && i+1 < len(args) {
			s.Endpoint = "https://" + address
		}
	}
	return s
}

// root returns the directory of the module.
func root(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "capi")); err == nil { // modules below have a go.mod, too
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no repository above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// Client returns a client of an account.
func (s *Server) Client(t testing.TB, u User) *minio.Client {
	t.Helper()
	host, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	client, err := minio.New(host.Host, &minio.Options{
		Creds: credentials.NewStaticV4(u.AccessKey, u.SecretKey, ""), Secure: host.Scheme == "https", Region: "us-east-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Bucket makes a bucket, which belongs to the root, with a policy (JSON), where that is not
// empty, in which BUCKET stands for its name. It returns the name.
func (s *Server) Bucket(t testing.TB, policy string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	name := "b" + strings.ToLower(rand.Text()[:16])
	client := s.Client(t, s.User)
	if err := client.MakeBucket(ctx, name, minio.MakeBucketOptions{}); err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
	if policy != "" {
		if err := client.SetBucketPolicy(ctx, name, strings.ReplaceAll(policy, "BUCKET", name)); err != nil {
			t.Fatalf("set the policy of a bucket: %v", err)
		}
	}
	return name
}

// URL returns the address of a bucket for package store/s3.
func (s *Server) URL(bucketAndPrefix string) string {
	return "s3://" + bucketAndPrefix + "?endpoint=" + url.QueryEscape(s.Endpoint)
}

// AddUser makes an account that may do what policies of buckets let it.
func (s *Server) AddUser(t testing.TB, name string) User {
	t.Helper()
	u := User{name, rand.Text()}
	body, err := xml.Marshal(struct {
		XMLName              xml.Name `xml:"Account"`
		Access, Secret, Role string
	}{Access: u.AccessKey, Secret: u.SecretKey, Role: "user"})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, s.Endpoint+"/create-user", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(body)
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(digest[:]))
	resp, err := http.DefaultClient.Do(signer.SignV4(*req, s.AccessKey, s.SecretKey, "", "us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		t.Fatalf("make a user: %s: %s", resp.Status, text)
	}
	return u
}
