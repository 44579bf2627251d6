package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/net/html"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// hostile is what no page may take for a part of itself.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}` + "\u202e\x1b[31m</title></style></textarea>javascript:alert(3)"

const token = "a-token-of-a-test"

// newCache returns a cache with n entries of app, each as large as its number.
func newCache(t *testing.T, n int, app string) cli.Cache {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	s, err := settings.Load(settings.Inputs{Environ: []string{"KERNSTASH_DIR=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	d := disk.New(cli.DiskOptions(s))
	t.Cleanup(func() { d.Close() })
	lines := []byte("\n")
	for i := range n {
		image, err := key.NewImage(key.OpenCLC, []byte(hostile+fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		r := &key.Recipe{Image: image, Options: key.NewOptions("-DN=1", ""), Device: key.Device{
			API: "opencl", Platform: app, Name: app, Version: app, Driver: app, Compiler: []key.Pair{{Name: app, Value: app}},
		}}
		r.Options.Variables = []key.Pair{{Name: app, Value: app}}
		name := fmt.Sprint(app, i)
		e := &store.Entry{Key: r.Key(), Recipe: r, Artifact: &store.Artifact{
			Binaries: []store.Binary{{Form: store.FormFinal, Data: bytes.Repeat([]byte("a"), 1<<10*(i+1))}},
			Log:      app, Cost: time.Second, Created: time.Now(), Kernels: []store.Kernel{{Name: name}},
		}}
		if _, err := d.Put(context.Background(), e); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, l := range []records.Line{
			{Kind: records.Hits, At: now, Since: now, App: app, Entry: records.EntryOf(e.Key), Hits: 2, Saved: 3 * time.Second, Label: name},
			{
				Kind: records.Miss, At: now, App: app, Entry: records.EntryOf(e.Key), Cost: time.Second, Label: name, Device: app,
				Reason: "miss.absent", Nearest: app,
			},
		} {
			lines = l.Append(lines)
		}
	}
	if n > 0 {
		if err := d.AppendRecords(lines); err != nil {
			t.Fatal(err)
		}
	}
	return cli.Cache{App: &cli.App{Out: io.Discard, Err: io.Discard}, Disk: d, Settings: s}
}

// startServer returns what asks a server that has looked at all entries: with the token, of its own name.
func startServer(t *testing.T, c cli.Cache, run *timeline.Run) (get func(path string) *httptest.ResponseRecorder) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := newServer(ctx, c, "127.0.0.1:8080", token, run, "1.2")
	t.Cleanup(func() {
		cancel()
		s.data.walks.Wait()
	})
	for !s.data.seen().Done {
		time.Sleep(time.Millisecond)
	}
	return func(path string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "127.0.0.1:8080"
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
}

func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	c := newCache(t, 0, "app")
	s := newServer(context.Background(), c, "127.0.0.1:8080", token, nil, "1.2")
	t.Cleanup(func() { s.data.walks.Wait() })
	cookie := "kernstash-8080=" + s.session
	tests := []struct {
		name, method, host, path, cookie, bearer string
		want                                     int
	}{
		{"nobody", "GET", "127.0.0.1:8080", "/", "", "", 401},
		{"nobody, what is static", "GET", "127.0.0.1:8080", "/style.css", "", "", 401},
		{"nobody, metrics", "GET", "127.0.0.1:8080", "/metrics", "", "", 401},
		{"the first address", "GET", "127.0.0.1:8080", "/?token=" + token, "", "", 303},
		{"by name", "GET", "localhost:8080", "/?token=" + token, "", "", 303},
		{"another token", "GET", "127.0.0.1:8080", "/?token=x", "", "", 401},
		{"the cookie", "GET", "127.0.0.1:8080", "/", cookie, "", 200},
		{"the cookie of another port", "GET", "127.0.0.1:8080", "/", "kernstash-8081=" + s.session, "", 401},
		{"a cookie with the token", "GET", "127.0.0.1:8080", "/", "kernstash-8080=" + token, "", 401},
		{"an empty cookie", "GET", "127.0.0.1:8080", "/", "kernstash-8080=", "", 401},
		{"the token", "GET", "127.0.0.1:8080", "/metrics", "", token, 200},
		{"another token", "GET", "127.0.0.1:8080", "/metrics", "", token + "x", 401},
		{"another name that leads here", "GET", "evil.example:8080", "/", cookie, token, 421},
		{"another port", "GET", "127.0.0.1:8081", "/", cookie, token, 421},
		{"no change", "POST", "127.0.0.1:8080", "/", cookie, "", 405},
		{"HEAD", "HEAD", "127.0.0.1:8080", "/misses", cookie, "", 200},
		{"no such page", "GET", "127.0.0.1:8080", "/none", cookie, "", 404},
		{"no such entry", "GET", "127.0.0.1:8080", "/entry/" + strings.Repeat("0", 128), cookie, "", 404},
		{"no address of an entry", "GET", "127.0.0.1:8080", "/entry/" + strings.Repeat("0", 130), cookie, "", 404},
		{"no run", "GET", "127.0.0.1:8080", "/run", cookie, "", 404},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(tt.method, tt.path, nil)
		r.Host = tt.host
		if tt.cookie != "" {
			r.Header.Set("Cookie", tt.cookie)
		}
		if tt.bearer != "" {
			r.Header.Set("Authorization", "Bearer "+tt.bearer)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, w.Code, tt.want)
		}
		if got := w.Header().Get("Content-Security-Policy"); got != policy {
			t.Errorf("%s: policy %q", tt.name, got)
		}
		set := w.Header().Get("Set-Cookie")
		if want := map[bool]string{true: cookie + "; Path=/; HttpOnly; SameSite=Strict"}[w.Code == 303]; set != want {
			t.Errorf("%s: cookie %q, want %q", tt.name, set, want)
		}
	}
	if _, err := os.Lstat(c.Settings.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a look made the cache: %v", err)
	}
}

// TestPages follows all links from the first page: each leads to a page in which nothing that is recorded is more than text.
func TestPages(t *testing.T) {
	t.Parallel()
	const n = pageRows + 3
	now := time.Now()
	run := &timeline.Run{Command: []string{hostile}, Begun: now, Millis: 3000, Requests: []runlog.Span{
		{PID: 1, Exe: "/bin/" + hostile, Label: hostile, Key: hostile, Outcome: runlog.Compiled, Ended: now.Add(2 * time.Second), Spent: time.Second},
	}}
	get := startServer(t, newCache(t, n, hostile), run)
	todo, seen := []string{"/"}, map[string]bool{"/": true}
	kinds := make(map[string]int)
	for len(todo) > 0 && len(seen) < 1000 {
		at := todo[0]
		todo = todo[1:]
		w := get(at)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d: %s", at, w.Code, w.Body)
			continue
		}
		u, err := url.Parse("http://127.0.0.1:8080" + at)
		if err != nil {
			t.Fatal(err)
		}
		kinds[strings.SplitN(u.Path, "/", 3)[1]]++
		if !bytes.Contains(w.Body.Bytes(), []byte("&lt;script&gt;alert(1)&lt;/script&gt;")) {
			t.Errorf("%s does not show what it is to show: %s", at, w.Body)
		}
		for _, link := range checkPage(t, at, w.Body.Bytes(), true) {
			to, err := u.Parse(link)
			if err != nil || to.Host != u.Host || to.Scheme != "http" {
				t.Errorf("%s links %q, %v", at, link, err)
				continue
			}
			if next := to.RequestURI(); !seen[next] && to.Path != "/style.css" {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	// Two pages of misses and of what goes next; space of each program, alone, and of its application, and on its device.
	if kinds["entry"] != n || kinds["misses"] < 2 || kinds["next"] < 2 || kinds["run"] != 1 || kinds["space"] < 3*n {
		t.Errorf("pages were reached: %v", kinds)
	}
	if body := get("/misses?app=" + url.QueryEscape("nobody")).Body.String(); !strings.Contains(body, "None is recorded") {
		t.Errorf("misses of nobody: %s", body)
	}
	if body := get("/space?app=nobody").Body.String(); !strings.Contains(body, "There is nothing") {
		t.Errorf("space of nobody: %s", body)
	}
	for _, page := range []string{"-1", "99999999999999999999", "x"} {
		if w := get("/next?page=" + page); w.Code != http.StatusOK {
			t.Errorf("page %s: %d", page, w.Code)
		}
	}
}

// checkPage checks that a page has no more elements and attributes than it may, and returns what it links.
func checkPage(t *testing.T, name string, page []byte, scripted bool) (links []string) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(page, "\x1b\u202e") {
		t.Errorf("%s: control characters", name)
	}
	headings := 0
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "img", "iframe", "object", "embed", "form", "base", "textarea":
			t.Errorf("%s: has <%s>", name, n.Data)
		case "script":
			if src := attribute(n, "src"); !scripted || src != "/app.js" || n.FirstChild != nil {
				t.Errorf("%s: a script from %q", name, src)
			}
		case "h1":
			headings++
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				t.Errorf("%s: attribute %s of <%s>", name, a.Key, n.Data)
			case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
			case a.Key == "href" || a.Key == "xlink:href":
				links = append(links, a.Val)
			}
		}
	}
	if headings != 1 {
		t.Errorf("%s: %d headings", name, headings)
	}
	return links
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// TestWriteFile: the file needs no other, and links none.
// TestNames: an entry without kernels is named by its key, a time of nothing is 0 s, and of many kernels of a run three are named.
func TestNames(t *testing.T) {
	t.Parallel()
	c := newCache(t, 1, "app")
	image, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
	if err != nil {
		t.Fatal(err)
	}
	r := &key.Recipe{Image: image, Device: key.Device{API: "opencl", Platform: "P", Name: "D", Version: "3.0", Driver: "1"}}
	if _, err := c.Disk.Put(t.Context(), &store.Entry{Key: r.Key(), Recipe: r, Artifact: &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("code")}}, Created: time.Now(),
	}}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	run := &timeline.Run{Command: []string{"solver"}, Begun: now, Millis: 3000, Requests: []runlog.Span{
		{PID: 1, Exe: "/bin/solver", Label: "a, b, c, d, … 7 more", Outcome: runlog.Disk, Ended: now.Add(time.Second), Spent: time.Second},
	}}
	get := startServer(t, c, run)
	entry := "Entry " + r.Key().Short()
	for _, test := range []struct{ at, want string }{
		{"/next", ">" + entry + "</a>"},
		{"/space?by=program", "(no kernel is known)"},
		{"/run", "a, b, c and 8 more</th>"},
		{"/run", "</span>Compiling</dt><dd>0 s</dd>"},
		{"/", "<dt>Saved today</dt><dd>3.00 s</dd>"},
		{"/entry/" + base(r.Key()), "<h1 class=\"wide\">" + entry + "</h1>"},
	} {
		if w := get(test.at); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: %d, does not have %q:\n%s", test.at, w.Code, test.want, w.Body)
		}
	}
}

// base is the last part of the address of an entry's page.
func base(k key.Key) string {
	d := k.Dirs()
	return strings.Join(d[:], "")
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	c := newCache(t, 2, hostile)
	path := filepath.Join(t.TempDir(), "stat.html")
	if err := WriteFile(context.Background(), c, path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if links := checkPage(t, path, b, false); len(links) > 0 {
		t.Errorf("links %v", links)
	}
	// Each of two entries has saved 3 s.
	for _, want := range []string{"<dt>Saved today</dt><dd>6.00 s</dd>", "2 entries, 0.", "&lt;script&gt;alert(1)&lt;/script&gt;"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("no %q in %s", want, b)
		}
	}
}

// TestServe: a browser that opens the address which is printed is let in, until the command is interrupted.
func TestServe(t *testing.T) {
	t.Parallel()
	c := newCache(t, 1, "app")
	r, w := io.Pipe()
	c.Out, c.JSON = w, true
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, c, Options{Listen: "localhost:0", TokenFile: filepath.Join(t.TempDir(), "token")})
	}()
	var said struct{ URL, Metrics, Token string }
	if err := json.NewDecoder(r).Decode(&said); err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	for _, get := range []struct {
		client *http.Client
		url    string
		want   int
	}{
		{http.DefaultClient, said.Metrics, 401}, {browser, said.Metrics, 401}, {browser, said.URL, 200}, {browser, said.Metrics, 200},
	} {
		a, err := get.client.Get(get.url)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != get.want {
			t.Errorf("%s: %d, want %d", get.url, a.StatusCode, get.want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestMetrics: what Prometheus reads, and the dashboard asks for.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := newCache(t, 3, "app")
	var counted stats.Snapshot
	counted[stats.DiskHits], counted[stats.SavedTime], counted[stats.DiskBytesRead] = 5, int64(1500*time.Millisecond), 1024
	if err := c.Disk.AddStats(counted); err != nil {
		t.Fatal(err)
	}
	w := startServer(t, c, nil)("/metrics")
	families, err := new(expfmt.TextParser).TextToMetricFamilies(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"kernstash_on": 1, "kernstash_entries": 3, "kernstash_size_limit_bytes": 5 << 30, "kernstash_disk_hits_total": 5,
		"kernstash_saved_seconds_total": 1.5, "kernstash_disk_read_bytes_total": 1024, "kernstash_disk_misses_total": 0,
	} {
		f := families[name]
		if f == nil {
			t.Errorf("no %s", name)
			continue
		}
		if got := f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if len(families["kernstash_reasons_total"].GetMetric()) < 20 {
		t.Errorf("reasons: %v", families["kernstash_reasons_total"])
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(w.Body.Bytes())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v: %s", err, out)
		}
	}

	b, err := os.ReadFile("../../../../docs/grafana/kernstash.json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) {
		t.Error("the dashboard is no JSON")
	}
	asked := regexp.MustCompile(`kernstash_\w+`).FindAllString(string(b), -1)
	if len(asked) < 20 {
		t.Errorf("the dashboard asks for %v", asked)
	}
	for _, name := range asked {
		if families[name] == nil {
			t.Errorf("the dashboard asks for %s", name)
		}
	}
}

func TestTreemap(t *testing.T) {
	t.Parallel()
	// A column of two halves; then a row of what is left, of which the last two stand above one another.
	want := []box{
		{X: 0, Y: 0, W: 60, H: 50, Class: "c0"},
		{X: 0, Y: 50, W: 60, H: 50, Class: "c1"},
		{X: 60, Y: 0, W: 40, H: 50, Class: "c2"},
		{X: 60, Y: 50, W: 20, H: 50, Class: "c3"},
		{X: 80, Y: 50, W: 20, H: 50, Class: "c4"},
	}
	got := treemap([]int64{30, 30, 20, 10, 10})
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if d := cmp.Diff(want, got, near); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := treemap(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	all := []cell{{Name: "large", Bytes: 500, Entries: 1}}
	for range mapCells + 9 {
		all = append(all, cell{Name: "small", Bytes: 2, Entries: 1})
	}
	all = append(all, cell{Name: "empty"})
	got := cells(all)
	if len(got) != mapCells+1 || got[0].Label != "large" || got[1].Label != "11 others" || got[1].Link != "" {
		t.Errorf("%d boxes: %+v", len(got), got[:2])
	}
	var area float64
	for _, b := range got {
		area += b.W * b.H
	}
	if area < 9999 || area > 10001 {
		t.Errorf("they fill %v of 10000", area)
	}
}

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"127.0.0.1:0": true, "127.1.2.3:80": true, "localhost:8080": true, "[::1]:0": true,
		"0.0.0.0:0": false, ":8080": false, "192.168.1.1:80": false, "[::]:80": false, "example.com:80": false, "127.0.0.1": false, "": false,
	} {
		if err := CheckListen(address); (err == nil) != good || err != nil && !cli.IsUsage(err) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestReadToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "new")
	made, err := readToken(path)
	again, againErr := readToken(path)
	if err != nil || againErr != nil || made != again || len(made) < 20 {
		t.Errorf("%q, then %q; %v, %v", made, again, err, againErr)
	}
	if one, two := must(readToken("")), must(readToken("")); one == two {
		t.Errorf("twice the same: %s", one)
	}
	for name, content := range map[string]string{"short": "abc", "empty": "", "two": "aaaaaaaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbbbbbbb"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readToken(path); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := readToken(dir); err == nil {
		t.Error("a directory is taken")
	}
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

func TestPart(t *testing.T) {
	t.Parallel()
	all := make([]int, 2*pageRows+1)
	for page, want := range map[string]rows[int]{
		"":   {From: 0, Next: "?a=b&page=1"},
		"0":  {From: 0, Next: "?a=b&page=1"},
		"1":  {From: pageRows, Prev: "?a=b&page=0", Next: "?a=b&page=2"},
		"2":  {From: 2 * pageRows, Prev: "?a=b&page=1"},
		"3":  {From: 2 * pageRows, Prev: "?a=b&page=1"},
		"-1": {From: 0, Next: "?a=b&page=1"},
		"x":  {From: 0, Next: "?a=b&page=1"},
	} {
		got := part(httptest.NewRequest(http.MethodGet, "/?a=b&page="+page, nil), all)
		want.All, want.Of = all[want.From:min(want.From+pageRows, len(all))], len(all)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("page %q (-want +got):\n%s", page, d)
		}
	}
	if got := part(httptest.NewRequest(http.MethodGet, "/", nil), []int{}); got.Of != 0 || got.Prev+got.Next != "" {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestNextWithoutPins: what is pinned does not go next, and applications are shown by what they did in all.
func TestNextWithoutPins(t *testing.T) {
	t.Parallel()
	c := newCache(t, 3, "saxpy")
	ctx := context.Background()
	for info, err := range c.Disk.List(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Kernels[0] == "saxpy1" {
			if err := c.Disk.Pin(ctx, info.Key); err != nil {
				t.Fatal(err)
			}
		}
	}
	get := startServer(t, c, nil)
	page := get("/next").Body.String()
	for name, want := range map[string]bool{"saxpy0": true, "saxpy1": false, "saxpy2": true} {
		if got := strings.Contains(page, name); got != want {
			t.Errorf("%s goes next: %t", name, got)
		}
	}
	if page := get("/").Body.String(); !strings.Contains(page, `<a href="/space?app=saxpy">saxpy</a></th><td class="n">9.00 s</td><td class="n">6</td>`) {
		t.Errorf("the application is not shown with 9 s and 6 hits: %s", page)
	}
}
