// Package web shows a cache in a browser of the same machine, as one HTML file, and as metrics for Prometheus.
package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
)

//go:embed style.css app.js pages.html
var files embed.FS

// Options are those of serve.
type Options struct {
	Listen    string // address and port
	TokenFile string // "": a new token
	Report    string // file of a run's report; "": none
	Version   string // of the command
}

// CheckListen refuses an address that other machines reach.
func CheckListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return cli.Usagef("--listen %s: want an address and a port, such as 127.0.0.1:8080", address)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return cli.Usagef("--listen %s: want an address of this machine alone, such as 127.0.0.1:%s", address, port)
	}
	return nil
}

// Serve shows a cache until ctx ends.
func Serve(ctx context.Context, c cli.Cache, o Options) error {
	token, err := readToken(o.TokenFile)
	if err != nil {
		return fmt.Errorf("serve --token-file: %w", err)
	}
	var run *timeline.Run
	if o.Report != "" {
		if run, err = timeline.ReadFile(o.Report); err != nil {
			return fmt.Errorf("serve --report: %w", err)
		}
	}
	address := o.Listen
	if port, local := strings.CutPrefix(address, "localhost:"); local { // whatever that name resolves to
		address = "127.0.0.1:" + port
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(ctx)
	s := newServer(ctx, c, l.Addr().String(), token, run, o.Version)
	defer s.data.walks.Wait()
	defer cancel()
	s.data.look()
	s.data.walks.Go(func() { s.data.recorded() })
	if err := announce(c.App, l.Addr().String(), token); err != nil {
		return err
	}
	server := &http.Server{
		Handler: s, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 32 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() { // what is answered now is answered before the cache is closed
		defer close(stopped)
		bounded, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(bounded)
		server.Close()
	})()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	<-stopped
	return nil
}

// announce says where the page is.
func announce(a *cli.App, address, token string) error {
	report := struct {
		URL     string `json:"url"`
		Metrics string `json:"metrics"`
		Token   string `json:"token"`
	}{"http://" + address + "/?token=" + url.QueryEscape(token), "http://" + address + "/metrics", token}
	err := a.Report(report, true, func() {
		a.Printf("open %s\nmetrics for Prometheus, with the token as bearer: %s\n", report.URL, report.Metrics)
	})
	return errors.Join(err, a.Flush())
}

// readToken returns what a file holds, which is made if it is not there.
func readToken(path string) (string, error) {
	if path == "" {
		return rand.Text(), nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		token := rand.Text()
		_, err = f.WriteString(token + "\n")
		return token, errors.Join(err, f.Close())
	}
	if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > 4096:
		return "", fmt.Errorf("%s: no file of one token", path)
	case runtime.GOOS != "windows" && info.Mode()&0o077 != 0:
		return "", fmt.Errorf("%s: others may read it (mode %04o); run: chmod 600", path, info.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	const shortest = 16
	if len(token) < shortest || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: want a token of at least %d printable characters", path, shortest)
	}
	return token, nil
}

// server answers requests.
type server struct {
	data    *data
	run     *timeline.Run
	hosts   []string // that requests may be for
	token   string
	cookie  string // its name: cookies are of all ports
	session string // its value
	version string
	mux     http.ServeMux
}

func newServer(ctx context.Context, c cli.Cache, address, token string, run *timeline.Run, version string) *server {
	_, port, _ := net.SplitHostPort(address)
	s := &server{
		data: newData(ctx, c), run: run, token: token, version: version,
		hosts: []string{address, "localhost:" + port, strings.TrimSuffix(address, ":80")}, cookie: "kernstash-" + port, session: rand.Text(),
	}
	for path, page := range map[string]func(*http.Request) (*page, error){
		"/{$}": s.overview, "/space": s.space, "/entry/{place}": s.entry, "/misses": s.misses, "/next": s.next, "/run": s.timeline,
	} {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, page) })
	}
	s.mux.HandleFunc("GET /metrics", s.metrics)
	s.mux.HandleFunc("GET /seen", s.seen)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s.mux.Handle("GET /style.css", http.FileServerFS(files))
	s.mux.Handle("GET /app.js", http.FileServerFS(files))
	return s
}

// policy lets a page have its own style and module, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP lets those through who have the token, on a name of this machine: another name may have been made to
// lead here by a page elsewhere.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		w.Header().Set(name, value)
	}
	given := r.URL.Query().Get("token")
	switch {
	case !slices.Contains(s.hosts, r.Host):
		http.Error(w, "this server is not "+r.Host, http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "GET alone is answered", http.StatusMethodNotAllowed)
	case given != "" && same(given, s.token):
		http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: s.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case !s.known(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "open the address that 'kernstash serve' has printed: it has a token", http.StatusUnauthorized)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// known reports whether a request has the cookie, or the token.
func (s *server) known(r *http.Request) bool {
	if c, err := r.Cookie(s.cookie); err == nil && same(c.Value, s.session) {
		return true
	}
	bearer, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return is && same(bearer, s.token)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
