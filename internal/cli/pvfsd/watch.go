package pvfsd

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	own "github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/page"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/web"
	"github.com/viaduct-hpc/viaduct/watch"
)

// A watched is what shows this server while it runs.
type watched struct {
	all   []*watch.Place
	texts []string // "metrics at :9100"
}

// watch takes the place of --metrics for metrics, and that of --page for the page. Viewers wait there until serve.
func (o *serveOptions) watch() (w watched, err error) {
	if o.page != "" {
		mountPage()
	}
	for _, place := range []struct{ option, where, what string }{
		{"--metrics", o.metrics, "metrics"}, {"--page", o.page, "page and metrics"},
	} {
		if place.where == "" {
			continue
		}
		p, err := watch.Listen(place.where)
		if err != nil {
			return w, errors.Join(program.Usage(fmt.Errorf("%s: %w", place.option, err)), w.stop())
		}
		w.all = append(w.all, p)
		w.texts = append(w.texts, place.what+" at "+p.String())
	}
	return w, nil
}

// serve answers viewers from now on. The server must run, so that they see all of it.
func (w *watched) serve(*server.Running) {
	for _, p := range w.all {
		p.Serve()
	}
}

// stop can be called again.
func (w *watched) stop() error {
	var errs []error
	for _, p := range w.all {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// mountPage adds the page to what this process serves.
var mountPage = sync.OnceFunc(func() {
	page.Mount(pageMux{}, &page.Local{Snapshots: &table.Sampler{Take: own.Recent}})
})

// A pageMux adds handlers to those of package web.
type pageMux struct{}

func (pageMux) Handle(pattern string, h http.Handler) { web.Handle(pattern, h) }
