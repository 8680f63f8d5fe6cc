package term

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// Options of a view.
type Options struct {
	Tab   Tab // the first table; "": one that has something to show
	Query table.Query
	Every time.Duration
	Where string // where the source looks for processes, for an error
}

// Run shows views until the user ends it or ctx does. in and out are a terminal.
func Run(ctx context.Context, in io.Reader, out io.Writer, source view.Source, o Options) error {
	p := tea.NewProgram(newModel(ctx, source, o), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
