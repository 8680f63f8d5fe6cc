package mpi

import (
	"log/slog"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/core"
)

// Environment variables that Init looks at where Options say nothing.
const (
	// MethodEnv is Options.Method.
	MethodEnv = "MPI_METHOD"
	// ListenHostEnv is Options.ListenHost.
	ListenHostEnv = "MPI_LISTEN_HOST"
)

// Options are what Init is told. The zero value is right for programs that a launcher starts.
type Options struct {
	// Boot is what started the process; nil: the launcher that the environment names
	// (package mpi/pmi), or, if nobody did, the process is alone in its world. Finalize
	// closes it, and so does an Init that fails.
	Boot boot.Boot

	// Method says what messages travel by: one or more methods of the program or of its
	// plugins, best first, with commas between: "tcp", "via+shm,tcp". A method may be given
	// as the whole address to listen at ("tcp://10.1.2.3:0"), in which {name} stands for a
	// name that nobody else has, and {host} for ListenHost. Empty: MPI_METHOD of the
	// environment, or else via+shm within a host, and between hosts via+udp if there is a
	// key for it (the job's, or that of the environment), else tcp; in programs without
	// these, all methods that they have.
	Method string
	// ListenHost is the name or IP address under which other hosts reach this one. Empty:
	// MPI_LISTEN_HOST of the environment, or an address of this host; 127.0.0.1 if all
	// processes of the job are on it.
	ListenHost string
	// Host names the host: processes with the same text share memory. Empty: found out.
	Host string

	// Hook is called around every call; nil: nobody is.
	Hook Hook
	// Log receives the few events worth a line; nil discards them.
	Log *slog.Logger
	// InitTimeMax bounds Init if its context has no deadline; 0: five minutes.
	InitTimeMax time.Duration

	// Limits bound what is kept of messages.
	Limits core.Limits
	// Endpoint is what the endpoint is opened with, but for its Listen and Methods: plugins
	// and the methods' own options.
	Endpoint bmi.Config
}

// initTimeMax is how long a process waits for those that were started with it.
const initTimeMax = 5 * time.Minute

// withDefaults fills in what the environment or this package knows.
func (o Options) withDefaults() Options {
	if o.Method == "" {
		o.Method = os.Getenv(MethodEnv)
	}
	if o.ListenHost == "" {
		o.ListenHost = os.Getenv(ListenHostEnv)
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
