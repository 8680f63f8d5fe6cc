package trace

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// A Sink takes lines, without an end of line. Devices with different owners may
// share one, so it must be safe for concurrent use; those of this package are.
type Sink interface {
	Line(text string)
}

// A Recorder is a Sink that keeps the lines.
type Recorder struct {
	mu    sync.Mutex
	lines []string
}

// Line keeps a line.
func (r *Recorder) Line(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, text)
}

// Lines are the lines so far.
func (r *Recorder) Lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

// String is the lines so far as one text.
func (r *Recorder) String() string { return strings.Join(r.Lines(), "\n") + "\n" }

type writerSink struct {
	mu sync.Mutex
	w  io.Writer
}

// ToWriter writes lines to w. A line that cannot be written is lost, because a
// trace must not stop the traced program.
func ToWriter(w io.Writer) Sink { return &writerSink{w: w} }

func (s *writerSink) Line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintln(s.w, text)
}

type logSink struct{ log *slog.Logger }

// ToLog logs lines at the debug level.
func ToLog(log *slog.Logger) Sink { return logSink{log} }

func (s logSink) Line(text string) { s.log.Debug(text) }
