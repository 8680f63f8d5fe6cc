package web

import (
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
)

// mounted are the paths of all servers.
var mounted = struct {
	sync.Mutex
	mux      *http.ServeMux
	patterns []string
}{mux: http.NewServeMux()}

// Handle adds a handler for a pattern of http.ServeMux to all servers, usually when a package is linked.
// It panics as http.ServeMux.Handle does. The handler gets GET and HEAD requests without a body.
func Handle(pattern string, h http.Handler) {
	mounted.mux.Handle(pattern, h)
	mounted.Lock()
	defer mounted.Unlock()
	mounted.patterns = append(mounted.patterns, pattern)
}

// The whole snapshot, or a table of some peers.
func init() { Handle("/snapshot", &table.Sampler{Take: watch.Recent}) }

// serve gives a request to the handler of its path. Other paths get the list of all.
func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD: a process can be watched, not changed", http.StatusMethodNotAllowed)
		return
	}
	if _, pattern := mounted.mux.Handler(r); pattern != "" {
		mounted.mux.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.URL.Path != "/" {
		w.WriteHeader(http.StatusNotFound)
	}
	mounted.Lock()
	defer mounted.Unlock()
	for _, pattern := range slices.Sorted(slices.Values(mounted.patterns)) {
		fmt.Fprintln(w, pattern)
	}
}
