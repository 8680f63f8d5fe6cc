package mpi

import (
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// Environment variables that Init uses where Options are not set.
const (
	// MethodEnv is the default of Options.Method.
	MethodEnv = "MPI_METHOD"
	// ListenHostEnv is the default of Options.ListenHost.
	ListenHostEnv = "MPI_LISTEN_HOST"
	// TuningEnv is the default of Options.Tuning.
	TuningEnv = "MPI_TUNING"
	// RanksPerHostEnv is the default of Options.RanksPerHost.
	RanksPerHostEnv = "MPI_RANKS_PER_HOST"
)

// Options configure Init. The zero value is right for programs that a launcher starts.
type Options struct {
	// Boot is the launcher of the process. nil means the launcher that the environment names
	// (package internal/mpi/pmi); if it names none, the process is alone in its world. Finalize closes Boot,
	// and so does an Init that fails.
	Boot boot.Boot `about:"-"`

	// Method says how messages travel: one or more methods of the program or of its plugins, best first,
	// separated by commas: "tcp", "via+shm,tcp". A method may be the whole address to listen on
	// ("tcp://10.1.2.3:0"). {name} in it stands for a unique name, and {host} for ListenHost. If Method is
	// empty, it is MPI_METHOD of the environment. If that is empty too, it is via+shm within a host. Between
	// hosts it is via+udp if there is a key for it (the job's, or that of the environment), else tcp.
	// Programs without these methods use all methods that they have.
	Method string `about:"methods that messages travel by, best first" env:"MPI_METHOD"`
	// ListenHost is the name or IP address at which other hosts reach this one. If empty, it is
	// MPI_LISTEN_HOST of the environment, or else an address of this host; 127.0.0.1 if all
	// processes of the job are on it.
	ListenHost string `about:"name or address at which other hosts reach this one; empty: found automatically" env:"MPI_LISTEN_HOST"`
	// Host names the host: processes with the same text share memory. If empty, it is detected.
	Host string `about:"name of the host: processes with the same name share memory"`

	// Tuning is the file with the algorithms of collective operations that mpibench --tune has
	// measured (coll.ParseTuning). If empty, it is MPI_TUNING of the environment. That of rank 0
	// counts for all processes of the job.
	Tuning string `about:"file with algorithms of collective operations; that of rank 0 counts" env:"MPI_TUNING" name:"coll.tuning"`
	// RanksPerHost, if not 0, makes collective operations and topologies treat so many consecutive
	// ranks of the world as one host. If 0, it is MPI_RANKS_PER_HOST of the environment; if that is
	// empty, too, the hosts are what they are. That of rank 0 counts for all processes of the job.
	RanksPerHost int `about:"consecutive ranks that collective operations and topologies treat as one host; 0: hosts are what they are; that of rank 0 counts" env:"MPI_RANKS_PER_HOST" name:"coll.ranks_per_host"`

	// Hook is called around every call; it may be nil.
	Hook Hook `about:"whether a hook is called around every call"`
	// Log receives a few important events; nil discards them.
	Log *slog.Logger `about:"-"`
	// InitTimeMax limits Init if its context has no deadline; 0 means five minutes.
	InitTimeMax time.Duration `about:"how long Init may take"`

	// Limits are the limits of the engine.
	Limits core.Limits `about:"what the engine keeps"`
	// Endpoint configures the endpoint, except for its Listen and Methods: plugins and the methods'
	// own options.
	Endpoint bmi.Config `about:"-"`
}

// initTimeMax is how long a process waits for the others of its job.
const initTimeMax = 5 * time.Minute

// withDefaults fills in defaults from the environment or this package.
func (o Options) withDefaults() Options {
	if o.Method == "" {
		o.Method = environ.Getenv(MethodEnv)
	}
	if o.ListenHost == "" {
		o.ListenHost = environ.Getenv(ListenHostEnv)
	}
	if o.Tuning == "" {
		o.Tuning = environ.Getenv(TuningEnv)
	}
	if o.Host == "" {
		o.Host = hostID()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Endpoint.Log == nil {
		o.Endpoint.Log = o.Log
	}
	if o.InitTimeMax == 0 {
		o.InitTimeMax = initTimeMax
	}
	return o
}
