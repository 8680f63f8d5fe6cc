package pvfsd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	own "github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/page"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/web"
	"github.com/viaduct-hpc/viaduct/watch"
)

// watch serves metrics where --metrics says, and the page where --page says. It tells w where that is.
func (o *serveOptions) watch(w io.Writer, file *program.LogFile, log *slog.Logger) (stop func() error, err error) {
	if o.page != "" {
		mountPage()
	}
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, f := range stops {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	for _, place := range []struct{ option, where, what string }{
		{"--metrics", o.metrics, "metrics"}, {"--page", o.page, "the page and metrics"},
	} {
		if place.where == "" {
			continue
		}
		at, end, err := watch.Serve(place.where)
		if err != nil {
			return nil, errors.Join(program.Usage(fmt.Errorf("%s: %w", place.option, err)), stop())
		}
		stops = append(stops, end)
		file.Info(log, "serving "+place.what, "at", at)
		if !o.quiet {
			fmt.Fprintf(w, "pvfsd: serves %s at %s\n", place.what, at)
		}
	}
	return stop, nil
}

// mountPage adds the page to what this process serves.
var mountPage = sync.OnceFunc(func() {
	page.Mount(pageMux{}, &page.Local{Snapshots: &table.Sampler{Take: own.Recent}})
})

// A pageMux adds handlers to those of package web.
type pageMux struct{}

func (pageMux) Handle(pattern string, h http.Handler) { web.Handle(pattern, h) }
