package bmi

import (
	"log/slog"
	"time"
)

// Config is what an endpoint is opened with. The zero value opens an endpoint
// that only connects.
type Config struct {
	// Listen holds the addresses under which others reach the endpoint, with
	// scheme: "via+shm://name".
	Listen []string
	// Methods are further methods to open at once, by name; others open on
	// the first Lookup of one of their addresses.
	Methods []string
	// Plugins are plugins to load first, binaries or folders of them; their methods
	// are then registered in this process, for every endpoint. The program imports
	// package plugins for it, which loads those of the environment, too.
	Plugins []string
	// Options holds, per method name, the driver's own option type.
	Options map[string]any
	// Limits bound what the endpoint keeps. Zero values mean defaults.
	Limits Limits
	// Log receives the few events worth a line; nil discards them.
	Log *slog.Logger
	// Clock tells the time since an arbitrary start; nil is the monotonic
	// clock. Methods take their deadlines from it.
	Clock func() time.Duration
	// Manual: no background goroutine, and Test calls poll once and never
	// sleep, whatever their wait. For simulation under one goroutine.
	Manual bool
	// SpinMax is how long a Test call polls at most before it sleeps; 0 means
	// the default, < 0 never to spin.
	SpinMax time.Duration
}

// Limits bound what an endpoint keeps. Zero values mean defaults.
type Limits struct {
	// UnexpectedMessages and UnexpectedBytes bound the unexpected messages
	// that arrived and that nobody took yet, over all classes. Beyond, the
	// methods hold their senders back. One message is always accepted.
	UnexpectedMessages, UnexpectedBytes int
	// PendingOps bounds the operations of one context with one method that
	// were posted and not yet returned by a Test call. Beyond, posts end
	// with ErrAgain.
	PendingOps int
	// DrainTimeMax bounds Endpoint.Close.
	DrainTimeMax time.Duration
	// CancelTimeMax bounds Context.Close, while it waits for the operations
	// that it cancelled.
	CancelTimeMax time.Duration
}

// Defaults of Limits and Config.
const (
	unexpectedMessagesMax = 4096
	unexpectedBytesMax    = 64 << 20
	pendingOpsMax         = 1 << 16
	drainTimeMax          = 5 * time.Second
	cancelTimeMax         = 2 * time.Second

	// spinTimeMax is several times what a sleep and its wake-up cost, so that
	// also the answer to a message of 1 MiB over TCP finds its caller polling.
	// It is spent only as long as it helps, see spinner.
	spinTimeMax = 400 * time.Microsecond
)

// withDefaults fills in what was left zero.
func (l Limits) withDefaults() Limits {
	orDefault(&l.UnexpectedMessages, unexpectedMessagesMax)
	orDefault(&l.UnexpectedBytes, unexpectedBytesMax)
	orDefault(&l.PendingOps, pendingOpsMax)
	orDefault(&l.DrainTimeMax, drainTimeMax)
	orDefault(&l.CancelTimeMax, cancelTimeMax)
	l.PendingOps = min(l.PendingOps, slotsMax)
	return l
}

func orDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// withDefaults fills in what was left zero.
func (cfg Config) withDefaults() Config {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		start := time.Now()
		cfg.Clock = func() time.Duration { return time.Since(start) }
	}
	if cfg.SpinMax == 0 {
		cfg.SpinMax = spinTimeMax
	}
	return cfg
}
