package command

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/watch/gather"
	watchterm "github.com/viaduct-hpc/viaduct/internal/watch/term"
)

// metricsVariable says where the processes of a job show what they do.
const metricsVariable = "VIADUCT_METRICS"

// A topView is the view of a job's ranks below the job's output.
type topView struct {
	dir    string // of the ranks' sockets
	source *gather.Gatherer
	below  *watchterm.Below
}

// startTop begins to show the ranks of a job on the terminal, and changes the job so that all it prints there goes above them.
func (a *App) startTop(ctx context.Context, cfg *launch.Config) (*topView, error) {
	if !isTerminal(a.Err) {
		return nil, usagef("--top: standard error is no terminal: leave it out, or use --genv %s=dir:/FOLDER and bmi top dir:/FOLDER", metricsVariable)
	}
	t := &topView{}
	var err error
	if t.dir, err = os.MkdirTemp("", "viaduct-top-"); err != nil { // only this user can enter it
		return nil, err
	}
	target, err := gather.ParseTarget("dir:" + t.dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(t.dir))
	}
	for i := range cfg.Programs {
		p := &cfg.Programs[i]
		p.Env = append(slices.Clone(p.Env), metricsVariable+"=dir:"+t.dir)
	}
	t.source = gather.New([]gather.Target{target})
	t.below = watchterm.ShowBelow(ctx, a.Err, sizeOf(a.Err), t.source, time.Second)
	cfg.Stderr = t.below
	if isTerminal(a.Out) {
		cfg.Stdout = t.below
	}
	return t, nil
}

// close removes the view and the folder.
func (t *topView) close() error {
	err := t.below.Close()
	t.source.Close()
	return errors.Join(err, os.RemoveAll(t.dir))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// sizeOf returns the size of a terminal; a usual one if it has none.
func sizeOf(w io.Writer) func() (width, height int) {
	return func() (width, height int) {
		if f, ok := w.(*os.File); ok {
			width, height, _ = term.GetSize(int(f.Fd())) // 0 if it has none
		}
		if width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}
}
