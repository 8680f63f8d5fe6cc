package term

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// A Below shows the ranks of a job at the bottom of a terminal, below what the job prints there. It reads no keys: those are for the
// job. All output to the terminal goes through its Write until Close.
type Below struct {
	out    io.Writer
	size   func() (width, height int)
	source view.Source
	stop   context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	drawn int    // lines on the terminal
	rest  []byte // the job's output after the last newline
	lines func(width, height int) []string
}

// noPeers is a query for no peers.
var noPeers, _ = table.New(table.Query{})

// belowRowsMax limits the lines that a job's ranks get.
const belowRowsMax = 14

// ShowBelow starts to show views. out is a terminal, and size its size.
func ShowBelow(ctx context.Context, out io.Writer, size func() (width, height int), source view.Source, every time.Duration) *Below {
	ctx, stop := context.WithCancel(ctx)
	b := &Below{out: out, size: size, source: source, stop: stop, done: make(chan struct{})}
	b.lines = func(int, int) []string { return nil }
	go func() {
		defer close(b.done)
		for ctx.Err() == nil {
			v, err := source.View(ctx, noPeers)
			if ctx.Err() == nil {
				b.show(v, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
	}()
	return b
}

// show shows a view, or why there is none.
func (b *Below) show(v *view.View, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = func(width, height int) []string { return belowLines(v, err, width, height) }
	b.drawLocked(nil)
}

func belowLines(v *view.View, err error, width, height int) []string {
	lines := []string{faint.in(strings.Repeat("─", max(width-1, 1)))}
	switch {
	case err != nil:
		return append(lines, cut(red.in(err.Error()), width-1))
	case len(v.Jobs) == 0:
		return append(lines, cut(faint.in("no rank has called Init yet"), width-1))
	}
	rows := min(max(min(belowRowsMax, height/2), 3), max(height-2, 1))
	return append(lines, first(jobLines(v, width-1, rows), rows+1)...)
}

// Write prints output of the job above the view. What follows the last end of a line waits for more.
func (b *Below) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = append(b.rest, p...)
	end := bytes.LastIndexByte(b.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	err := b.drawLocked(b.rest[:end])
	b.rest = append(b.rest[:0], b.rest[end:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// drawLocked replaces the view by output and the present view, in one write, so that nothing flickers. The caller holds mu.
func (b *Below) drawLocked(output []byte) error {
	var text bytes.Buffer
	if b.drawn > 0 {
		text.WriteString("\r" + ansi.CursorUp(b.drawn))
	}
	text.WriteString(ansi.EraseScreenBelow)
	text.Write(output)
	lines := b.lines(b.size())
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	b.drawn = len(lines)
	_, err := b.out.Write(text.Bytes())
	return err
}

// Close removes the view, and prints the rest of the output.
func (b *Below) Close() error {
	b.stop()
	<-b.done
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = func(int, int) []string { return nil }
	err := b.drawLocked(b.rest)
	b.rest = nil
	return err
}
