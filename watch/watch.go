package watch

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	_ "github.com/viaduct-hpc/viaduct/internal/watch/prom" // /metrics
	"github.com/viaduct-hpc/viaduct/internal/watch/web"
)

// Env is the environment variable that says where to serve.
const Env = "VIADUCT_METRICS"

func init() {
	about.Register(about.Source{Settings: func(object any) []about.Setting {
		return []about.Setting{about.FromEnv("watch.metrics", Env, environ.Text(Env))}
	}})
	if text := environ.Getenv(Env); text != "" {
		own.complain = os.Stderr
		about.Changed(func(int) { own.follow(text) })
	}
}

// own is the server that the environment asked for.
var own follower

// A follower serves while there is something to show.
type follower struct {
	mu       sync.Mutex
	complain io.Writer
	server   *web.Server
	failed   bool // it said so
	off      bool // the program has chosen its own place to serve
}

// follow starts or ends the server. A program that cannot be watched runs on.
func (f *follower) follow(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	open := len(about.Live()) > 0
	switch {
	case f.server != nil && !open:
		_ = f.server.Close() // nothing is lost
		f.server = nil
	case f.server == nil && open && !f.failed && !f.off:
		var err error
		if f.server, err = listen(text); err != nil {
			f.failed = true
			fmt.Fprintf(f.complain, "viaduct: %s: %v\n", Env, err)
			return
		}
		f.server.Serve()
	}
}

func listen(text string) (*web.Server, error) {
	w, err := web.Parse(text)
	if err != nil {
		return nil, err
	}
	return web.Listen(w)
}

// A Place is where a program serves, in place of what the environment says.
type Place struct{ server *web.Server }

// Listen takes a place, in one of the forms above. Connections wait there until Serve. The caller must close the place.
func Listen(where string) (*Place, error) {
	own.mu.Lock()
	defer own.mu.Unlock()
	s, err := listen(where)
	if err != nil {
		return nil, err
	}
	own.off = true
	if own.server != nil {
		_ = own.server.Close() // nothing is lost
		own.server = nil
	}
	return &Place{s}, nil
}

// Serve starts to answer. Call it when everything that the program shows is open.
func (p *Place) Serve() { p.server.Serve() }

// String is where the program serves, as bmi top takes it: with the port that was free, or the socket in the folder.
func (p *Place) String() string { return p.server.Where() }

// Close ends the server.
func (p *Place) Close() error { return p.server.Close() }
