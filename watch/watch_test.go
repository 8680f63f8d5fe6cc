package watch

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// following makes a new follower follow the open objects, as init does.
func following(t *testing.T, where string) (said *bytes.Buffer) {
	said = new(bytes.Buffer)
	f := &follower{complain: said}
	t.Cleanup(about.Changed(func(int) { f.follow(where) }))
	return said
}

func open(t *testing.T) *bmi.Endpoint {
	ep, err := bmi.Open(context.Background(), bmi.Config{Methods: []string{"mem"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ep.Close() }) // the test may have closed it
	return ep
}

// scrape gets the metrics at a socket.
func scrape(t *testing.T, path string) string {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	r, err := c.Get("http://x/metrics")
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	_, err = parser.TextToMetricFamilies(bytes.NewReader(body))
	require.NoError(t, err)
	return string(body)
}

// TestFollow: a program listens as long as an endpoint is open.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	said := following(t, "unix:"+path)
	require.NoFileExists(t, path)
	for range 2 {
		one, two := open(t), open(t)
		assert.Contains(t, scrape(t, path), `viaduct_method_peers{method="mem"}`)
		require.NoError(t, one.Close())
		require.FileExists(t, path)
		require.NoError(t, two.Close())
		require.NoFileExists(t, path)
	}
	assert.Empty(t, said.String())
}

// TestMistakes: a program says once what is wrong, and runs on.
func TestMistakes(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = busy.Close() }()
	for where, want := range map[string]string{
		"9100":                 "want :9100, HOST:PORT, ",
		"unix:relative":        "must begin with /",
		busy.Addr().String():   "dir:/FOLDER",
		"unix:/no/such/folder": "no such file",
	} {
		said := following(t, where)
		for range 2 {
			require.NoError(t, open(t).Close())
		}
		assert.Contains(t, said.String(), Env+": ", where)
		assert.Contains(t, said.String(), want, where)
		assert.Equal(t, 1, bytes.Count(said.Bytes(), []byte("\n")), said.String())
	}
}

// TestServe: a place that the program chooses replaces the one in the environment.
func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	text := "unix:" + path
	t.Cleanup(about.Changed(func(int) { own.follow(text) }))
	defer func() { own.off = false }()
	open(t)
	require.FileExists(t, path)
	at := freeport.Address(t)
	place, err := Listen(at)
	require.NoError(t, err)
	place.Serve()
	require.Equal(t, at, place.String())
	require.NoFileExists(t, path)
	open(t)
	require.NoFileExists(t, path)
	require.NoError(t, place.Close())
	_, err = Listen("nonsense")
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(os.TempDir(), "nonsense"))
}
