package term

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// Once prints one table, or a view as JSON, and ends. It asks twice, so that there are rates.
func Once(ctx context.Context, w io.Writer, source view.Source, o Options, asJSON bool) error {
	if _, err := source.View(ctx, o.Query); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(o.Every):
	}
	v, err := source.View(ctx, o.Query)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(w).Encode(v)
	}
	return printPlain(w, v, o)
}

func printPlain(w io.Writer, v *view.View, o Options) error {
	tab := o.Tab
	if tab == "" {
		tab = tabOf(v)
	}
	for _, line := range tabLines(v, tab, 0, -1, 0) {
		if _, err := fmt.Fprintln(w, ansi.Strip(line)); err != nil {
			return err
		}
	}
	for _, note := range v.Notes {
		if _, err := fmt.Fprintln(w, note); err != nil {
			return err
		}
	}
	return nil
}
