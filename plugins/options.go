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
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
)

// Prefix is the prefix of the names of plugin binaries.
const Prefix = "bmi-method-"

// Options configure how a plugin is run. Zero values mean defaults.
type Options struct {
	// Name is the plugin's name in errors and logs; the default is the name of the file without
	// Prefix.
	Name string `about:"name of the plugin"`
	// Names maps methods of the plugin to the names under which to register them, so that two
	// versions can be used side by side. Addresses then have the registered names.
	Names map[string]string `about:"whether methods are registered under other names"`
	// Replace registers a method even if another one has its name; Unload restores that one.
	// Endpoints that have the other method open keep it.
	Replace bool `about:"replace methods of the same names"`
	// SHA256 is the checksum of the file in hexadecimal; "" means no check.
	SHA256 string `about:"checksum of the file, in hexadecimal; empty: not checked"`
	// Args are the arguments of the process.
	Args []string `about:"arguments of the process"`
	// Env is its environment: "K=V", or "K" for this process's value when it loads the plugin.
	// Nothing else is inherited.
	Env []string `about:"whether environment variables are passed on"`
	// Log receives the events of the plugin and its own output; nil discards them.
	Log *slog.Logger `about:"-"`
	// NoRings disables shared memory: messages travel over gRPC.
	NoRings bool `about:"messages travel over gRPC, not shared memory"`
	// Plaintext disables TLS between the processes. They talk over a socket that only this user can
	// open.
	Plaintext bool `about:"no TLS between the processes"`

	// RingBytes is the size of the record space in each of the two rings of an endpoint, 1 MiB.
	// ArenaBytes is the size of the memory for messages over 8 KiB, 1 GiB. Only the used part takes
	// memory. Both are rounded up to a power of two. A message cannot be larger than half of the
	// arena, and an unexpected one not larger than about a quarter of a ring.
	RingBytes  int `about:"size of each of the two rings of an endpoint"`
	ArenaBytes int `about:"size of the memory for messages over 8 KiB"`

	// StartTimeout limits the start of the process, 1 min. HangTimeout is how long the process may
	// leave a call unanswered before it is killed, 30 s; it is pinged regularly for each endpoint.
	// Both are so long that a slow process on a busy machine is not taken for a broken one.
	StartTimeout time.Duration `about:"how long the process may take to start"`
	HangTimeout  time.Duration `about:"how long the process may leave a call unanswered before it is killed"`

	// Backoff is the delay before the first restart, 100 ms. It doubles with each further restart
	// within RestartWindow (1 min), up to BackoffMax (10 s). After RestartLimit (5) restarts within
	// RestartWindow the plugin stays dead. If RestartLimit < 0, it is never restarted.
	Backoff       time.Duration `about:"delay before the first restart; it doubles"`
	BackoffMax    time.Duration `about:"longest delay before a restart"`
	RestartLimit  int           `about:"restarts within the window before the plugin stays dead; < 0: it is never restarted"`
	RestartWindow time.Duration `about:"the window of time for restarts"`

	waits waits
}

// waits are durations that users rely on. Tests change them, because tests must not depend on how
// busy a machine is.
type waits struct {
	start time.Duration // StartTimeout, until the process first answers
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

// withDefaults sets the defaults, for a plugin at a path.
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

// power rounds n up to a power of two, at least least and at most most.
func power(what string, n, least, most int) (int, error) {
	if n > most {
		return 0, fmt.Errorf("%w: %s is %d, the most is %d", bmi.ErrInvalid, what, n, most)
	}
	return max(1<<bits.Len(uint(n-1)), least), nil
}

// environment returns the present value of Options.Env. A process that replaces a dead one gets the
// same.
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

// backoffAfter returns the delay before a restart that follows a number of others.
func (o *Options) backoffAfter(restarts int) time.Duration {
	wait := o.Backoff
	for range restarts {
		if wait *= 2; wait >= o.BackoffMax {
			break
		}
	}
	return min(wait, o.BackoffMax)
}
