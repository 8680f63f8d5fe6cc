package launch

import (
	"cmp"
	"io"
	"os"
	"time"

	treewire "github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
)

// A Program is one part of a job: processes that run the same file.
type Program struct {
	// N is the number of processes, ≥ 1.
	N int
	// Path of the file. Without a slash it is searched in PATH, otherwise it is relative to this
	// program's working directory.
	Path string
	Args []string
	// Env, "K=V", is added to the environment.
	Env []string
	// Dir is the working directory; empty means that of this program.
	Dir string

	name string // Path as given; argv[0] of the process
}

// Config says what to run and how.
type Config struct {
	// Programs of the job; ranks are assigned in their order.
	Programs []Program
	// Env is the environment of all processes; nil means that of this program.
	Env []string
	// Stdin is the input of rank 0; it may be nil. It is read ahead of rank 0. A Read that waits
	// for input when the job ends keeps waiting.
	Stdin io.Reader
	// Stdout and Stderr receive the output of the processes, a line at a time; nil discards it.
	Stdout, Stderr io.Writer
	// Hosts says where the processes run; nil means on this machine. The program must call BecomeAgent
	// first of all, and so must Hosts.Agent.
	Hosts *Hosts
	// Bind binds each process: to a "core", "hwthread", "socket" or "numa" node of its host. Empty and
	// "none" mean nothing. ReportBindings reports what each is bound to.
	Bind           string
	ReportBindings bool
	// OutputFile and ErrorFile name files for the output of each process instead of Stdout and Stderr.
	// %r stands for its rank, %g for the number of its group, %h for its host, %% for a percent sign.
	OutputFile, ErrorFile string
	// Label puts the rank before each line: "[3] ", or "[1.3] " for rank 3 of the first spawned
	// job.
	Label bool
	// Report receives sentences about failures; it may be nil.
	Report func(sentence string)
	// Timeout ends a job that runs longer; 0 means no limit. First its processes get SIGQUIT, on which Go
	// programs print the stacks of their goroutines.
	Timeout time.Duration
	// InitTimeout ends a job in which some processes have waited this long in Init for others that
	// have not called it; 0 means no limit.
	InitTimeout time.Duration
	// Grace is the time between SIGTERM, or the user's SIGINT, and SIGKILL; 0 means GraceDefault.
	Grace time.Duration
	// KeepGoing lets the other processes go on when one dies or ends without Finalize.
	KeepGoing bool
	// Signals are signals to this program for its processes; it may be nil.
	Signals <-chan os.Signal
	// Guard starts this program once more, as a guard that kills the descendants of the processes
	// if this program is killed. The program must call BecomeGuard first of all.
	Guard bool
}

// GraceDefault is the default of Config.Grace.
const GraceDefault = 3 * time.Second

// Exit codes of jobs in addition to those of their processes.
const (
	CodeFailed  = 1   // a process ended with 0 although it should not have
	CodeTimeout = 124 // ended by a timeout
	CodeSignal  = 128 // plus the number of the signal that killed a process
)

// processesMax limits a job with all that it spawns, on one host.
const processesMax = 1 << 14

func (c Config) processesMax() int {
	if c.Hosts != nil {
		return treewire.RanksMax
	}
	return processesMax
}

// lastWords is how long the output of a dead process is read when nothing comes: a process that it
// started may hold it open for ever.
const lastWords = 100 * time.Millisecond

// Variables that give via+udp a key, or tell it to work without one; see docs/reference/security-udp.md. If
// the user sets none of them, the job uses a key of its own.
const (
	udpKeyVariable      = "VIADUCT_UDP_KEY"
	udpKeyFileVariable  = "VIADUCT_UDP_KEY_FILE"
	udpInsecureVariable = "VIADUCT_UDP_INSECURE"
)

var udpKeyVariables = []string{udpKeyVariable, udpKeyFileVariable, udpInsecureVariable}

// Variables of an outer launcher, which the processes of this one do not inherit.
var notInherited = []string{
	pmi.FDEnv, pmi.RankEnv, pmi.SizeEnv, pmi.PortEnv, pmi.IDEnv, pmi.SpawnedEnv, pmi.JobEnv, pmi.VersionEnv,
	pmi.KeyEnv, guardVariable, localRankVariable, localSizeVariable,
}

// Variables that programs written for other launchers read.
const (
	localRankVariable = "MPI_LOCALRANKID"
	localSizeVariable = "MPI_LOCALNRANKS"
)

func (c Config) withDefaults() Config {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	if c.Stderr == nil {
		c.Stderr = io.Discard
	}
	if c.Report == nil {
		c.Report = func(string) {}
	}
	c.Grace = cmp.Or(c.Grace, GraceDefault)
	return c
}
