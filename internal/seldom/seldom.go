// Package seldom keeps what strangers can cause any number of times from filling a log.
//
// It lives beside log/slog and knows nothing of who writes. What may be left out is for the caller to say, by the level.
package seldom

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Every is the shortest time between two lines with the same message.
const Every = 10 * time.Second

// textsMax is how many messages are told apart; when there are more, the times of all are forgotten.
const textsMax = 256

// Handler passes a line with a message on that it has passed on less than Every ago only if its level is another one than
// this, and counts it otherwise. The next line has the count, as "left out".
func Handler(inner slog.Handler, level slog.Level, clock func() time.Duration) slog.Handler {
	return &handler{inner, level, &state{clock: clock, seen: make(map[string]*text)}}
}

type handler struct {
	slog.Handler
	level slog.Level
	*state
}

// state is shared by a handler and those made of it.
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

// may reports whether a line may be written, and how many of its kind were not.
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
