package term

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// ErrNobody: no process answers.
var ErrNobody = errors.New("nobody answers")

// reasonsMax is how many processes that do not answer an error names.
const reasonsMax = 5

// nobody is an error if no process of a view answers.
func nobody(v *view.View, where string) error {
	reasons := slices.Clone(v.Notes)
	for i := range v.Processes {
		p := &v.Processes[i]
		if p.Error == "" {
			return nil
		}
		switch {
		case p.Target == where:
			reasons = append(reasons, p.Error)
		case i < reasonsMax:
			reasons = append(reasons, p.Target+": "+p.Error)
		case i == reasonsMax:
			reasons = append(reasons, fmt.Sprintf("and %d more", len(v.Processes)-reasonsMax))
		}
	}
	if len(reasons) == 0 {
		reasons = []string{"no process has a socket there"}
	}
	return fmt.Errorf("%w at %s: %s", ErrNobody, where, strings.Join(reasons, ", "))
}

// Once prints one table, or a view as JSON, and ends. It asks twice, so that there are rates. If no process answers, it prints nothing
// and returns ErrNobody.
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
	if err := nobody(v, o.Where); err != nil {
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
