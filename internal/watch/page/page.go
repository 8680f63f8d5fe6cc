package page

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

//go:embed static/page.html static/page.css static/icon.svg static/*.js
var static embed.FS

// Local makes views of this process.
type Local struct {
	Snapshots *table.Sampler
	joiner    view.Joiner
}

// View implements view.Source.
func (l *Local) View(_ context.Context, q table.Query) (*view.View, error) {
	s := l.Snapshots.Table(q.Top())
	return l.joiner.Join(time.Now(), []view.Sample{{Target: "this process", Snapshot: s}}, q), nil
}

// A Mux is where handlers are added, as to http.ServeMux.
type Mux interface {
	Handle(pattern string, h http.Handler)
}

// Mount serves the page at /, and its data at /view.
func Mount(mux Mux, source view.Source) {
	mux.Handle("GET /{$}", protect(file("page.html", "text/html; charset=utf-8")))
	for _, name := range scripts {
		mux.Handle("GET /"+name, protect(file(name, "text/javascript; charset=utf-8")))
	}
	mux.Handle("GET /page.css", protect(file("page.css", "text/css; charset=utf-8")))
	mux.Handle("GET /icon.svg", protect(file("icon.svg", "image/svg+xml")))
	mux.Handle("GET /view", protect(views(source)))
}

// Handler is a server's handler with nothing but the page.
func Handler(source view.Source) http.Handler {
	mux := http.NewServeMux()
	Mount(mux, source)
	return mux
}

var scripts = []string{"page.js", "format.js", "dom.js", "peers.js", "servers.js", "jobs.js", "processes.js"}

// policy lets the page load its own files and fetch views, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// protect sets the headers that keep a page safe, and refuses requests that a page of another site sends by a name that leads here
// (DNS rebinding): it could read what this server shows.
func protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !ownName(r.Host) {
			http.Error(w, fmt.Sprintf("%.100q is no name of this host: use its IP address, localhost or its host name", r.Host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownName reports whether the Host header of a request names this host: by an IP address, as localhost, or by the host name, with a
// domain or without.
func ownName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	own, err := os.Hostname()
	short, _, _ := strings.Cut(own, ".")
	given, _, _ := strings.Cut(host, ".")
	return strings.EqualFold(host, "localhost") || err == nil && short != "" && strings.EqualFold(given, short)
}

func file(name, contentType string) http.Handler {
	content, err := static.ReadFile("static/" + name)
	if err != nil {
		panic("page: " + err.Error()) // it is not in the binary
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content) // the reader may be gone
	})
}

func views(source view.Source) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := table.Parse(r.URL.Query())
		if err == nil && q.Limit > limitMax {
			err = fmt.Errorf("limit=%d: the page shows %d rows at most", q.Limit, limitMax)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		v, err := source.View(r.Context(), q)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the reader may be gone
	})
}

// limitMax is the most rows of peers that a page shows at once.
const limitMax = 1000
