package pvfsd

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	own "github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/page"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/web"
	"github.com/viaduct-hpc/viaduct/watch"
)

// A watched is what shows this server while it runs.
type watched struct {
	places []string // "metrics at :9100"
	stops  []func() error
}

// watch serves metrics where --metrics says, and the page where --page says.
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
		at, stop, err := watch.Serve(place.where)
		if err != nil {
			return w, errors.Join(program.Usage(fmt.Errorf("%s: %w", place.option, err)), w.stop())
		}
		w.stops = append(w.stops, stop)
		w.places = append(w.places, place.what+" at "+at)
	}
	return w, nil
}

func (w *watched) stop() error {
	var errs []error
	for _, f := range w.stops {
		errs = append(errs, f())
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
