package top

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	xterm "golang.org/x/term"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/watch/page"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/term"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// Options are those of the command line.
type Options struct {
	Once, JSON bool
	Web        string
	Every      time.Duration
	Tab        string
	query      table.Query
}

// everyMin is the shortest time between two views: rates are not measured over less.
const everyMin = table.GapMin

// Flags adds the options that both commands have.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.BoolVar(&o.Once, "once", false, "print one table and end; without a terminal this is the default")
	f.BoolVar(&o.JSON, "json", false, "print one view as JSON and end")
	program.DurationFlag(f, &o.Every, "interval", time.Second, "time between two views, over which rates are measured")
}

// PeerFlags adds the options for tables of peers.
func (o *Options) PeerFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Web, "web", "", "serve the live page at this address, such as localhost:9200")
	f.StringVar(&o.Tab, "view", "", "the table: peers, servers, jobs or processes (default: one that has something to show)")
	f.StringVar(&o.query.Sort, "sort", "rate", "the column to sort peers by: "+strings.Join(table.Columns(), ", "))
	f.BoolVar(&o.query.Ascending, "ascending", false, "the smallest first")
	f.StringVar(&o.query.Filter, "filter", "", "only peers for which all words apply: parts of addresses, or conditions such as state=READY, 'round-trip>5ms'")
	f.IntVar(&o.query.Limit, "limit", table.LimitDefault, "how many peers are printed by --once and --json")
}

// check checks the options together.
func (o *Options) check() (err error) {
	if o.Every < everyMin {
		return program.Usagef("--interval %v: want %v or more", o.Every, everyMin)
	}
	if o.Tab != "" && !slices.Contains(term.Tabs, term.Tab(o.Tab)) {
		return program.Usagef("--view %s: want peers, servers, jobs or processes", o.Tab)
	}
	if o.query, err = table.New(o.query); err != nil {
		return program.Usage(err)
	}
	if o.Web != "" && (o.Once || o.JSON) {
		return program.Usagef("--web cannot be had with --once or --json")
	}
	return nil
}

// ErrNobody: no process answers, and one table was to be printed.
var ErrNobody = term.ErrNobody

// Run shows views of a source as the options say. where names the source. in is the terminal's input; out and log are the command's
// outputs.
func (o *Options) Run(ctx context.Context, in io.Reader, out, log io.Writer, source view.Source, where string) error {
	if err := o.check(); err != nil {
		return err
	}
	view := term.Options{Tab: term.Tab(o.Tab), Query: o.query, Every: o.Every, Where: where}
	switch {
	case o.Web != "":
		return serve(ctx, o.Web, log, source)
	case o.Once, o.JSON, !isTerminal(in), !isTerminal(out):
		return term.Once(ctx, out, source, view, o.JSON)
	}
	return term.Run(ctx, in, out, source, view)
}

func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && file != nil && xterm.IsTerminal(int(file.Fd()))
}

// serve serves the page until it is interrupted.
func serve(ctx context.Context, at string, log io.Writer, source view.Source) error {
	if _, _, err := net.SplitHostPort(at); err != nil {
		return program.Usagef("--web %s: want HOST:PORT, such as localhost:9200", at)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", at)
	if err != nil {
		return fmt.Errorf("--web %s: %w", at, err)
	}
	if err := page.Serve(ctx, l, source, func() { fmt.Fprintf(log, "the page is at http://%s/\n", l.Addr()) }); err != nil {
		return err
	}
	return ctx.Err() // it was interrupted
}
