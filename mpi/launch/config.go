package launch

import (
	"cmp"
	"io"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/mpi/pmi"
)

// A Program is one part of a job: processes that run the same file.
type Program struct {
	// N is the number of processes, ≥ 1.
	N int
	// Path of the file: looked for in PATH if it has no slash, else relative to this
	// program's working directory.
	Path string
	Args []string
	// Env, "K=V", is added to the environment.
	Env []string
	// Dir is the working directory; empty: that of this program.
	Dir string

	name string // Path as it was given, which the program finds before its arguments
}

// Config says what to run and how.
type Config struct {
	// Programs of the job; ranks are given in their order.
	Programs []Program
	// Env is the environment of all processes; nil: that of this program.
	Env []string
	// Stdin is what rank 0 reads; nil: nothing. It is read ahead of rank 0, and a Read that
	// waits for more when the job ends goes on waiting.
	Stdin io.Reader
	// Stdout and Stderr take what the processes write, a line at a time; nil: nothing
	// does.
	Stdout, Stderr io.Writer
	// Label has each line begin with its rank: "[3] ", or "[1.3] " for rank 3 of the first
	// spawned job.
	Label bool
	// Report takes sentences about what goes wrong; nil: nothing does.
	Report func(sentence string)
	// Timeout ends a job that runs longer; 0: none does.
	Timeout time.Duration
	// InitTimeout ends a job in which some processes have called Init, and others have not
	// for so long; 0: they may take what time they want.
	InitTimeout time.Duration
	// Grace is how long processes have from SIGTERM, or from the SIGINT of the user, to
	// SIGKILL; 0: GraceDefault.
	Grace time.Duration
	// KeepGoing lets the others go on when a process dies or ends without Finalize.
	KeepGoing bool
	// Signals that this program gets for its processes; nil: none.
	Signals <-chan os.Signal
	// Guard starts this program once more, which must call BecomeGuard first of all, to
	// kill what processes have started should this program be killed.
	Guard bool
}

// GraceDefault is how long processes have to end.
const GraceDefault = 3 * time.Second

// Exit codes of jobs beside those of their processes.
const (
	CodeFailed  = 1   // a process that ended with 0 and should not have
	CodeTimeout = 124 // ended by a time-out
	CodeSignal  = 128 // plus the number of the signal that killed a process
)

// processesMax bounds a job with all that it spawns.
const processesMax = 1 << 14

// How long the output of a dead process is read when nothing comes: a process that it
// started may hold it open for ever.
const lastWords = 100 * time.Millisecond

// Variables with which via+udp is told a key, or to go without; see docs/security-udp.md.
// A job whose user set none of them uses its own.
const (
	udpKeyVariable      = "VIADUCT_UDP_KEY"
	udpKeyFileVariable  = "VIADUCT_UDP_KEY_FILE"
	udpInsecureVariable = "VIADUCT_UDP_INSECURE"
)

var udpKeyVariables = []string{udpKeyVariable, udpKeyFileVariable, udpInsecureVariable}

// Variables of an outer launcher mean nothing to the processes of this one.
var notInherited = []string{
	pmi.FDEnv, pmi.RankEnv, pmi.SizeEnv, pmi.PortEnv, pmi.IDEnv, pmi.SpawnedEnv, pmi.JobEnv, pmi.VersionEnv,
	pmi.KeyEnv, guardVariable, localRankVariable, localSizeVariable,
}

// What programs written for other launchers look at, too.
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
