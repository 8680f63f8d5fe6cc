package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/watch"
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

func init() { Handle("/snapshot", http.HandlerFunc(snapshot)) }

// snapshot serves a snapshot as JSON.
func snapshot(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(watch.Recent()) // an error means that the reader is gone
}

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
