package s3_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/lifecycle"

	"github.com/kernstash/kernstash/internal/needs/versitygw"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/s3"
	"github.com/kernstash/kernstash/store/storetest"
)

// document returns the JSON of docs/FLEET.md that contains a text.
func document(t *testing.T, with string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/FLEET.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		if strings.Contains(m[1], with) {
			return m[1]
		}
	}
	t.Fatalf("no JSON of docs/FLEET.md has %s", with)
	return ""
}

type policy struct {
	Version   string
	Statement []map[string]any
}

// The policy of the documentation does what it says. versitygw names users by their access keys,
// and does not know s3:if-none-match, which TestWriteOnce is about.
func TestPolicies(t *testing.T) {
	t.Parallel()
	server := versitygw.Start(t)
	node, builder, stranger := server.AddUser(t, "node"), server.AddUser(t, "builder"), server.AddUser(t, "stranger")
	text := document(t, `"WriteOnce"`)
	for _, u := range []versitygw.User{node, builder} {
		text = strings.ReplaceAll(text, "arn:aws:iam::111122223333:role/"+u.AccessKey, u.AccessKey)
	}
	var p policy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Statement {
		delete(s, "Condition")
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	bucket := server.Bucket(t, string(b))
	as := func(u versitygw.User) (*s3.Objects, *remote.Store) {
		o := open(t, server.URL(bucket+"/kernstash"), keys(u))
		return o, remote.New(o, remote.Options{})
	}
	ctx := within(t)
	forbidden := func(what string, err error) {
		t.Helper()
		var e *s3.Error
		if !errors.As(err, &e) || e.Status != http.StatusForbidden {
			t.Errorf("%s: %v, want 403", what, err)
		}
	}
	nodes, nodeStore := as(node)
	builders, builderStore := as(builder)
	strangers, _ := as(stranger)
	e, manifest := storetest.New(t, "policies", 1000), key.Digest{1}
	name := nodeStore.Name(e.Key)

	_, err = nodes.Get(ctx, name, 1<<20)
	if !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("a node's miss: %v", err)
	}
	_, err = nodeStore.Put(ctx, e)
	forbidden("a node puts", err)
	forbidden("a node puts a manifest", nodeStore.PutBlob(ctx, store.Manifests, manifest, []byte("m")))
	if _, err := builderStore.Put(ctx, e); err != nil {
		t.Errorf("a builder puts: %v", err)
	}
	for range 2 {
		if err := builderStore.PutBlob(ctx, store.Manifests, manifest, []byte("m")); err != nil {
			t.Errorf("a builder puts a manifest: %v", err)
		}
	}
	if _, err := nodeStore.Get(ctx, e.Key); err != nil {
		t.Errorf("a node's hit: %v", err)
	}
	if _, err := nodeStore.GetBlob(ctx, store.Manifests, manifest); err != nil {
		t.Errorf("a node's manifest: %v", err)
	}
	_, err = nodeStore.PutApp(ctx, "app", []key.Digest{e.Key.Sum}, nil)
	forbidden("a node says what an application uses", err)
	forbidden("a node packs", nodes.Put(ctx, nodeStore.PackName("app"), []byte("b"), true))
	for range 2 {
		if put, err := builderStore.PutApp(ctx, "app", []key.Digest{e.Key.Sum}, nil); err != nil || put.Listed != 1 {
			t.Errorf("a builder says what an application uses: %+v, %v", put, err)
		}
		if err := builders.Put(ctx, nodeStore.PackName("app"), []byte("b"), true); err != nil {
			t.Errorf("a builder packs: %v", err)
		}
	}
	if list, err := nodeStore.App(ctx, "app"); err != nil || len(list.Keys) != 1 {
		t.Errorf("what an application uses, for a node: %v", err)
	}
	forbidden("a node replaces", nodes.Put(ctx, name, []byte("b"), true))
	forbidden("a node deletes", nodes.Delete(ctx, name))
	forbidden("a builder deletes", builders.Delete(ctx, name))
	forbidden("a builder puts for another tenant", builders.Put(ctx, "v1/other/ab/abc", []byte("b"), false))
	_, err = nodes.Get(ctx, "v1/other/ab/abc", 1<<20)
	forbidden("a node reads what is another tenant's", err)
	_, err = strangers.Get(ctx, name, 1<<20)
	forbidden("a stranger reads", err)
	_, err = strangers.Acquire(ctx, "lease/default/x", time.Hour)
	forbidden("a stranger takes a lease", err)
	for _, o := range []*s3.Objects{nodes, builders} {
		lease, err := o.Acquire(ctx, nodeStore.LeaseName(e.Key), time.Hour)
		if err != nil {
			t.Fatalf("a lease: %v", err)
		}
		if err := lease.Renew(ctx, time.Hour); err != nil {
			t.Errorf("renew: %v", err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	names := 0
	for _, err := range nodes.List(ctx, "v1/default/") {
		if err != nil {
			t.Errorf("a node lists: %v", err)
		}
		names++
	}
	if names != 4 {
		t.Errorf("%d objects are listed, want 4", names)
	}
	wrong := node
	wrong.SecretKey = "sesame-sesame"
	_, err = open(t, server.URL(bucket), keys(wrong)).Get(ctx, name, 1)
	forbidden("with the wrong key", err)
	if strings.Contains(err.Error(), wrong.SecretKey) {
		t.Errorf("the error holds the key: %v", err)
	}
}

// What the statement WriteOnce lets through: this server does as its condition says.
func TestWriteOnce(t *testing.T) {
	t.Parallel()
	var p policy
	if err := json.Unmarshal([]byte(document(t, `"WriteOnce"`)), &p); err != nil {
		t.Fatal(err)
	}
	conditional := 0
	for _, s := range p.Statement {
		if c, err := json.Marshal(s["Condition"]); err == nil && string(c) == `{"Null":{"s3:if-none-match":"false"}}` {
			conditional++
		}
	}
	if conditional != 1 {
		t.Fatalf("%d statements have the condition", conditional)
	}
	f := newFake(t)
	f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		entries := regexp.MustCompile(`/v1/default/../`)
		if r.Method == http.MethodPut && entries.MatchString(r.URL.Path) && r.Header.Get("If-None-Match") == "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}
	o := open(t, f.url, fakeKeys)
	s := remote.New(o, remote.Options{})
	e := storetest.New(t, "once", 1000)
	for _, want := range []store.PutResult{store.Stored, store.Existing} {
		if got, err := s.Put(within(t), e); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	if err := o.Put(within(t), s.Name(e.Key), []byte("other"), true); err == nil {
		t.Error("it was replaced")
	}
	if err := s.PutBlob(within(t), store.Manifests, key.Digest{1}, []byte("m")); err != nil {
		t.Error(err)
	}
}

// The rules of the documentation are some that the client can send. versitygw has no lifecycle.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	var c lifecycle.Configuration
	if err := json.Unmarshal([]byte(document(t, `"Rules"`)), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Rules) != 2 || c.Rules[0].Expiration.Days != 90 || c.Rules[0].RuleFilter.Prefix != "kernstash/v1/" || c.Rules[1].Expiration.Days != 1 {
		t.Errorf("%+v", c)
	}
}
