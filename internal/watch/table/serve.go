package table

import (
	"encoding/json"
	"net/http"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// ServeHTTP answers GET /snapshot: with the whole snapshot, or, if the URL has a query, with a table of some peers.
func (m *Sampler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var s *watch.Snapshot
	if v := r.URL.Query(); Asked(v) {
		q, err := Parse(v)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s = m.Table(q)
	} else {
		s = m.present()
	}
	Write(w, s)
}

// Write sends a snapshot.
func Write(w http.ResponseWriter, s *watch.Snapshot) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(s) // the reader may be gone
}
