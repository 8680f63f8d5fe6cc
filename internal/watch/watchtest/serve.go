package watchtest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
)

// Serve serves snapshots of a process at a Unix socket, as a real one does, and returns its path. A second of the process's time
// passes with each answer.
func Serve(t testing.TB, dir, name string, snapshot func(second int) *watch.Snapshot) string {
	t.Helper()
	var second atomic.Int64
	var ranker table.Ranker
	return ServeHandler(t, dir, name, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := snapshot(int(second.Add(1) - 1))
		if q, err := table.Parse(r.URL.Query()); err == nil && table.Asked(r.URL.Query()) {
			s = ranker.Rank(s, q)
		}
		table.Write(w, s)
	}))
}

// ServeHandler serves anything at a Unix socket.
func ServeHandler(t testing.TB, dir, name string, h http.Handler) string {
	t.Helper()
	path := filepath.Join(dir, name)
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return path
}
