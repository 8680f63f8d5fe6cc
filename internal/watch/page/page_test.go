package page

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
	"github.com/viaduct-hpc/viaduct/internal/watch/watchtest"
)

// local is a source of one process with n peers.
func local(n int) *Local {
	second := 0
	return &Local{Snapshots: &table.Sampler{Take: func() *watch.Snapshot {
		second++
		return watchtest.Client(n, second)
	}}}
}

func get(h http.Handler, url, host string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFilesAndHeaders(t *testing.T) {
	h := Handler(local(3))
	for _, name := range append([]string{"", "page.css", "icon.svg", "view"}, scripts...) {
		w := get(h, "/"+name, "127.0.0.1:9200")
		require.Equal(t, http.StatusOK, w.Code, name)
		assert.NotEmpty(t, w.Body.String(), name)
		for header, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			assert.Equal(t, want, w.Header().Get(header), name)
		}
		assert.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
	assert.Equal(t, http.StatusNotFound, get(h, "/page.go", "localhost").Code)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/view", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

// TestEveryFileIsServed: a script that is added must be in the list.
func TestEveryFileIsServed(t *testing.T) {
	entries, err := fs.ReadDir(static, "static")
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".js") {
			assert.True(t, slices.Contains(scripts, e.Name()), e.Name())
		}
	}
}

// TestThePageKeepsToItself: no file names another host, and none makes markup from text.
func TestThePageKeepsToItself(t *testing.T) {
	outside := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}`)
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc| style="`)
	require.NoError(t, fs.WalkDir(static, "static", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := static.ReadFile(path)
		require.NoError(t, err)
		for _, found := range outside.FindAllString(string(text), -1) {
			assert.Contains(t, []string{"http://www.w3.org"}, found, "%s: only the name of a format", path)
		}
		assert.Empty(t, markup.FindAllString(string(text), -1), path)
		return nil
	}))
	assert.True(t, markup.MatchString(`x.innerHTML = y`) && outside.MatchString("https://cdn.example.com/x.js"), "the patterns find what they look for")
}

// TestNamesOfThisHost: a page of another site cannot read what is shown by a name that leads here.
func TestNamesOfThisHost(t *testing.T) {
	own, err := os.Hostname()
	require.NoError(t, err)
	h := Handler(local(1))
	for _, host := range []string{"127.0.0.1", "10.1.2.3:9100", "[::1]:80", "[fe80::1]", "localhost", "LOCALHOST:1", own, own + ":9100"} {
		assert.Equal(t, http.StatusOK, get(h, "/view", host).Code, host)
	}
	for _, host := range []string{"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "x:y:z", `"><script>`} {
		w := get(h, "/view", host)
		assert.Equal(t, http.StatusMisdirectedRequest, w.Code, host)
		assert.Contains(t, w.Body.String(), "is no name of this host")
	}
}

func TestViews(t *testing.T) {
	h := Handler(local(500))
	w := get(h, "/view?sort=address&order=ascending&offset=10&limit=20", "localhost")
	var v view.View
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
	assert.Len(t, v.Peers.Rows, 20)
	assert.Equal(t, 500, v.Peers.Matched)
	for query, want := range map[string]string{"sort=x": "there is no such column", "limit=1001": "the page shows 1000 rows at most"} {
		w := get(h, "/view?"+query, "localhost")
		assert.Equal(t, http.StatusBadRequest, w.Code)
		assert.Contains(t, w.Body.String(), want)
	}
	w = get(Handler(broken{}), "/view", "localhost")
	assert.Equal(t, http.StatusUnprocessableEntity, w.Code)
	assert.Contains(t, w.Body.String(), "too far down")
}

type broken struct{}

func (broken) View(context.Context, table.Query) (*view.View, error) {
	return nil, errors.New("too far down")
}

// TestAnUpdateStaysSmall: it does not grow with the number of peers.
func TestAnUpdateStaysSmall(t *testing.T) {
	few, many := get(Handler(local(100)), "/view", "localhost").Body.Len(), get(Handler(local(10_000)), "/view", "localhost").Body.Len()
	assert.Less(t, many, few+few/10)
	assert.Less(t, many, 80_000)
}

func TestServeUntilTheContextEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() { ended <- Serve(ctx, l, local(1), func() { close(ready) }) }()
	<-ready
	resp, err := http.Get("http://" + l.Addr().String() + "/")
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	assert.Contains(t, string(text), "<title>Viaduct</title>")
	cancel()
	require.NoError(t, <-ended)
}

// BenchmarkUpdate is an update of the page by a process with 10,000 peers: a snapshot that costs nothing, the view, and its JSON.
func BenchmarkUpdate(b *testing.B) {
	snapshots := []*watch.Snapshot{watchtest.Client(10_000, 0), watchtest.Client(10_000, 1)}
	q, err := table.New(table.Query{Limit: 100})
	require.NoError(b, err)
	var ranker table.Ranker
	var joiner view.Joiner
	b.ReportAllocs()
	var text []byte
	before := cpu(b)
	for i := 0; b.Loop(); i++ {
		s := *snapshots[i%2]
		s.Taken = watchtest.Epoch.AddDate(0, 0, i)
		v := joiner.Join(s.Taken, []view.Sample{{Target: "x", Snapshot: ranker.Rank(&s, q.Top())}}, q)
		text, err = json.Marshal(v)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(len(text)), "bytes/update")
	b.ReportMetric((cpu(b)-before)*1e3/float64(b.N), "cpu-ms/update")
}

// cpu is the time that this process has used, in seconds: other processes do not count, as they do in ns/op.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
