// Package seldom prevents log lines that remote hosts can cause without limit from filling a log.
//
// It is a wrapper for log/slog. The caller says by the level which lines may be dropped.
package seldom

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Every is the shortest time between two lines with the same message.
const Every = 10 * time.Second

// textsMax is how many messages are tracked; if there are more, the times of all are forgotten.
const textsMax = 256

// Handler returns a handler that drops a line at the given level if a line with the same message was passed on less than
// Every ago. Lines with other levels are always passed on. The next line has the number of dropped ones, as "left out".
func Handler(inner slog.Handler, level slog.Level, clock func() time.Duration) slog.Handler {
	return &handler{inner, level, &state{clock: clock, seen: make(map[string]*text)}}
}

type handler struct {
	slog.Handler
	level slog.Level
	*state
}

// state is shared by a handler and those derived from it.
type state struct {
	clock func() time.Duration
	mu    sync.Mutex
	seen  map[string]*text
}

type text struct {
	at      time.Duration
	leftOut uint64
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level != h.level {
		return h.Handler.Handle(ctx, r)
	}
	n, ok := h.may(r.Message)
	if !ok {
		return nil
	}
	if n > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Uint64("left out", n))
	}
	return h.Handler.Handle(ctx, r)
}

// may reports whether a line may be written, and how many with the same message were dropped.
func (s *state) may(message string) (leftOut uint64, ok bool) {
	now := s.clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.seen[message]
	switch {
	case t == nil:
		if len(s.seen) == textsMax {
			clear(s.seen)
		}
		s.seen[message] = &text{at: now}
		return 0, true
	case now-t.at < Every:
		t.leftOut++
		return 0, false
	}
	leftOut = t.leftOut
	*t = text{at: now}
	return leftOut, true
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(attrs), h.level, h.state}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.level, h.state}
}
