package pvfsd

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	own "github.com/viaduct-hpc/viaduct/internal/watch"
)

// TestServingMetricsAndAPage: both are where the server says, until it ends.
func TestServingMetricsAndAPage(t *testing.T) {
	metrics, page := filepath.Join(t.TempDir(), "metrics"), filepath.Join(t.TempDir(), "page")
	r, _ := serving(t, "--config", newConfig(t, newAddress("mem")), "--create", "--dir", filepath.Join(t.TempDir(), "data"),
		"--metrics", "unix:"+metrics, "--page", "unix:"+page)
	said := "pvfsd: metrics at unix:" + metrics + "\npvfsd: page and metrics at unix:" + page + "\n"
	require.Eventually(t, func() bool { return strings.Contains(r.err.String(), said) }, far, time.Millisecond, r.err.String())
	for _, socket := range []string{metrics, page} {
		assert.Contains(t, get(t, socket, "/metrics"), "viaduct_pvfs_")
		assert.Contains(t, get(t, socket, "/"), "<html")
		assert.Contains(t, get(t, socket, "/view"), `"FileSystem":"pvfs2-fs"`)
	}

	r.stop()
	require.Equal(t, ExitOK, r.wait().code, r.err.String())
	for _, socket := range []string{metrics, page} {
		_, err := net.Dial("unix", socket)
		assert.Error(t, err, "%s is served no more", socket)
	}
}

// get asks what serves at a socket for a path.
func get(t *testing.T, socket, path string) string {
	t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	res, err := client.Get("http://localhost" + path)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, "%s: %s", path, body)
	return string(body)
}

// TestPlacesThatCannotBeServed are mistakes in the command line. What was served before is closed.
func TestPlacesThatCannotBeServed(t *testing.T) {
	conf := newConfig(t, newAddress("mem"))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	socket := filepath.Join(t.TempDir(), "socket")
	for option, place := range map[string]string{"--metrics": "nonsense", "--page": taken.Addr().String()} {
		args := []string{"serve", "--config", conf, "--create", "--dir", filepath.Join(t.TempDir(), "data"), option, place}
		if option == "--page" {
			args = append(args, "--metrics", "unix:"+socket)
		}
		r := pvfsd(t, args...)
		assert.Equal(t, ExitUsage, r.code, "%s: %s", option, r.err.String())
		assert.Contains(t, r.err.String(), option+": ", option)
	}
	_, err = net.Dial("unix", socket)
	assert.Error(t, err)
}

// TestWholeBeforeItIsShown: viewers that follow what is open see the server together with its endpoint, and before the program says
// that it serves.
func TestWholeBeforeItIsShown(t *testing.T) {
	type view struct {
		server *own.Server
		said   string
	}
	var mu sync.Mutex
	var views []view
	socket := filepath.Join(t.TempDir(), "metrics")
	args := []string{"--config", newConfig(t, newAddress("mem")), "--create", "--dir", filepath.Join(t.TempDir(), "data"), "--metrics", "unix:" + socket}
	var out logtext.Buffer
	t.Cleanup(about.Changed(func(n int) {
		mu.Lock()
		defer mu.Unlock()
		if n > 0 {
			views = append(views, view{own.Take().Server, out.String()})
		}
	}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- (&App{Out: io.Discard, Err: &out}).Main(ctx, append([]string{"serve"}, args...)) }()
	defer func() { assert.Equal(t, ExitOK, <-ended) }()
	defer stop()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "pvfsd: metrics at ") }, far, time.Millisecond)
	assert.Contains(t, get(t, socket, "/metrics"), "viaduct_pvfs_")

	mu.Lock()
	defer mu.Unlock()
	assert.NotNil(t, views[0].server, "the endpoint is shown without the server")
	first := slices.IndexFunc(views, func(v view) bool { return v.server != nil })
	assert.NotContains(t, views[max(first, 0)].said, "pvfsd: ", "it says that it serves before the server is there")
}
