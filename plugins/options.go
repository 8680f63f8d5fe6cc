package plugins

import (
	"fmt"
	"log/slog"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/plugins/host"
	"github.com/viaduct-hpc/viaduct/plugins/ring"
	"github.com/viaduct-hpc/viaduct/plugins/segment"
)

// Prefix is what the names of plugin binaries begin with.
const Prefix = "bmi-method-"

// Options say how a plugin is run. Zero values mean defaults.
type Options struct {
	// Name is the plugin's in errors and logs; the default is the name of the file
	// without Prefix.
	Name string
	// Names has, for methods that the plugin offers, the names to register them under
	// instead of their own, so that two versions can be used side by side. Addresses
	// then have the name given here.
	Names map[string]string
	// Replace registers a method also if there is another one of its name, which comes
	// back with Unload. Endpoints that have the other one open keep it.
	Replace bool
	// SHA256 is the checksum of the file, in hexadecimal; "" is not checked.
	SHA256 string
	// Args are the arguments of the process.
	Args []string
	// Env is its environment: "K=V", or "K" for the value that this process has when it loads
	// the plugin. Nothing else is inherited.
	Env []string
	// Log is told what becomes of the plugin, and what it says itself; nil discards it.
	Log *slog.Logger
	// NoRings does without shared memory: messages travel over gRPC.
	NoRings bool
	// Plaintext does without TLS between the processes, who talk over a socket that
	// only this user can open.
	Plaintext bool

	// RingBytes is the room for records in each of the two rings of an endpoint, 1 MiB;
	// ArenaBytes that for messages over 8 KiB, 1 GiB, of which only what is used takes
	// memory. Both are rounded up to a power of two. A message cannot be larger than
	// half of the arena, nor an unexpected one than about a quarter of a ring.
	RingBytes, ArenaBytes int

	// StartTimeout bounds the start of the process, 1 min. HangTimeout is how long it may
	// leave a question unanswered before it is killed, 30 s: it is asked again and again
	// for a sign of life, for each endpoint. Both are so long that a process which merely
	// gets little of a busy machine is not taken for a broken one.
	StartTimeout, HangTimeout time.Duration

	// Backoff is how long the first restart waits, 100 ms, and each further one within
	// RestartWindow (1 min) twice as long, up to BackoffMax (10 s). More than
	// RestartLimit (5) restarts within RestartWindow are not made: the plugin stays
	// dead. RestartLimit < 0: it is never restarted.
	Backoff, BackoffMax time.Duration
	RestartLimit        int
	RestartWindow       time.Duration

	waits waits
}

// waits are what users are promised, but for tests, which must not depend on how busy a
// machine is.
type waits struct {
	start time.Duration // StartTimeout, until the process answers at all
	next  time.Duration // waitMax
	dying time.Duration // dyingTime
}

// Defaults of Options.
const (
	ringBytes     = 1 << 20
	arenaBytes    = 1 << 30
	startTimeout  = time.Minute
	hangTimeout   = 30 * time.Second
	backoff       = 100 * time.Millisecond
	backoffMax    = 10 * time.Second
	restartLimit  = 5
	restartWindow = time.Minute
)

// withDefaults fills in what was left zero, for a plugin at a path.
func (o Options) withDefaults(path string) (Options, error) {
	if o.Name == "" {
		o.Name = strings.TrimPrefix(filepath.Base(path), Prefix)
	}
	o.Env = environment(o.Env)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	orDefault(&o.RingBytes, ringBytes)
	orDefault(&o.ArenaBytes, arenaBytes)
	orDefault(&o.StartTimeout, startTimeout)
	orDefault(&o.HangTimeout, hangTimeout)
	orDefault(&o.Backoff, backoff)
	orDefault(&o.BackoffMax, backoffMax)
	orDefault(&o.RestartWindow, restartWindow)
	orDefault(&o.waits.start, o.StartTimeout)
	orDefault(&o.waits.next, waitMax)
	orDefault(&o.waits.dying, dyingTime)
	if o.RestartLimit == 0 {
		o.RestartLimit = restartLimit
	}
	var err error
	if o.RingBytes, err = power("RingBytes", o.RingBytes, host.RingMin, ring.DataMax); err == nil {
		o.ArenaBytes, err = power("ArenaBytes", o.ArenaBytes, segment.ArenaMin, segment.ArenaMax)
	}
	if err != nil {
		return o, fmt.Errorf("plugins: options of plugin %s: %w", o.Name, err)
	}
	return o, nil
}

func orDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// power rounds up to a power of two between two others.
func power(what string, n, least, most int) (int, error) {
	if n > most {
		return 0, fmt.Errorf("%w: %s is %d, the most is %d", bmi.ErrInvalid, what, n, most)
	}
	return max(1<<bits.Len(uint(n-1)), least), nil
}

// environment is what Options.Env stands for now. A process that takes the place of one that
// died has the same.
func environment(given []string) []string {
	var env []string
	for _, e := range given {
		if strings.Contains(e, "=") {
			env = append(env, e)
		} else if v, ok := os.LookupEnv(e); ok {
			env = append(env, e+"="+v)
		}
	}
	return env
}

// backoffAfter is how long a restart waits that comes after so many others.
func (o *Options) backoffAfter(restarts int) time.Duration {
	wait := o.Backoff
	for range restarts {
		if wait *= 2; wait >= o.BackoffMax {
			break
		}
	}
	return min(wait, o.BackoffMax)
}
