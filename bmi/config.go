package bmi

import (
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// Config configures an endpoint. The zero value opens an endpoint that only
// connects.
type Config struct {
	// Listen holds the addresses under which other endpoints reach this one, with
	// scheme: "via+shm://name".
	Listen []string `about:"addresses under which other endpoints reach this one"`
	// Methods are further methods to open at once, by name. All others open on the
	// first Lookup of one of their addresses.
	Methods []string `about:"further methods to open at once"`
	// Plugins are the paths of plugins to load first, binaries or folders of them.
	// Their methods are then registered in this process, for every endpoint. The
	// program must import package plugins, which also loads the plugins that the
	// environment names.
	Plugins []string `about:"plugins to load first, files or folders"`
	// Options holds, per method name, the driver's own option type.
	Options map[string]any `about:"-"`
	// Limits bound what the endpoint keeps. Zero values mean defaults.
	Limits Limits `about:"what the endpoint keeps"`
	// Log receives the few events worth a line; nil discards them.
	Log *slog.Logger `about:"-"`
	// Trace takes the endpoint's operations and unexpected messages; nil is the trace of the process, which VIADUCT_TRACE names,
	// if there is one (docs/guides/tracing.md).
	Trace *trace.Trace `about:"-"`
	// Clock tells the time since an arbitrary start; nil is the monotonic
	// clock. Methods take their deadlines from it.
	Clock func() time.Duration `about:"-"`
	// Manual disables the background goroutines. Test calls then poll once and never sleep, and ignore the time that they may
	// wait. It is for simulation in one goroutine.
	Manual bool `about:"no background goroutines, and no call sleeps"`
	// SpinMax is how long a Test call polls at most before it sleeps. 0 means the
	// default, < 0 no spinning.
	SpinMax time.Duration `about:"how long a call polls at most before it sleeps; < 0: it never polls first; 0, when it is set: the default"`
}

// Limits bound what an endpoint keeps. Zero values mean defaults.
type Limits struct {
	// UnexpectedMessages and UnexpectedBytes bound the unexpected messages in the
	// queue, over all classes. At the limit, the methods hold back the senders. One
	// message is always accepted.
	UnexpectedMessages int `about:"most unexpected messages in the queue; beyond it, methods hold back the senders"`
	UnexpectedBytes    int `about:"most bytes of unexpected messages in the queue; one message is always accepted"`
	// PendingOps bounds the operations of one context with one method that no Test
	// call has returned yet. At the limit, posts end with ErrAgain.
	PendingOps int `about:"most operations of a context with one method that no Test call has returned yet"`
	// DrainTimeMax bounds Endpoint.Close.
	DrainTimeMax time.Duration `about:"how long closing the endpoint takes at most"`
	// CancelTimeMax bounds how long Context.Close waits for the operations that it
	// cancelled.
	CancelTimeMax time.Duration `about:"how long closing a context waits for the operations that it cancelled"`
}

// Defaults of Limits and Config.
const (
	unexpectedMessagesMax = 4096
	unexpectedBytesMax    = 64 << 20
	pendingOpsMax         = 1 << 16
	drainTimeMax          = 5 * time.Second
	cancelTimeMax         = 2 * time.Second

	// spinTimeMax is several times the cost of a sleep and its wake-up, so that
	// even the answer to a message of 1 MiB over TCP finds its caller polling. It
	// is spent only as long as it helps, see spinner.
	spinTimeMax = 400 * time.Microsecond
)

// withDefaults replaces zero values with defaults.
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

// withDefaults replaces zero values with defaults.
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
