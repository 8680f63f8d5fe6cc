// Package boot is how a process finds the others of its job: the interface between package mpi and
// the launcher that started the processes.
//
// Package internal/mpi/pmi implements it for processes under mpiexec, Hydra and Slurm. Local is an in-memory
// implementation for jobs whose ranks share one process, such as tests.
package boot

import "context"

// A Boot is one process's view of its job. Keys and values are text without blanks, '=' or ';', of
// at most KeyMax and ValueMax bytes. Callers must split longer data.
type Boot interface {
	// Rank returns this process's rank, 0 ≤ Rank < Size.
	Rank() int
	// Size returns the number of processes that were started together.
	Size() int
	// JobID returns a text that is unique among the jobs of a launcher, and the same in all
	// processes of one.
	JobID() string
	// KeyMax and ValueMax return the longest key and value, in bytes.
	KeyMax() int
	ValueMax() int
	// Put makes a pair visible to the other processes after the next Fence.
	Put(ctx context.Context, key, value string) error
	// Get returns a value that was put before the latest Fence.
	Get(ctx context.Context, key string) (string, error)
	// Fence waits until every process of the job called it.
	Fence(ctx context.Context) error
	// Secret returns a key that only processes of this job know; empty if the launcher has none.
	Secret() []byte
	// Abort ends the whole job with an exit code. It returns only if it cannot.
	Abort(code int, why string) error
	// Finalize announces that this process leaves in good order, and waits until all processes have
	// done so.
	Finalize(ctx context.Context) error
	// Close releases the resources of the Boot. Call it after Finalize, or after a failure.
	Close() error
}

// A Spawner is a Boot that can start more processes (MPI-4.1, 11.8).
type Spawner interface {
	Boot
	// Spawn starts n processes of a program as a job of their own, whose pairs include preput from
	// the start. It returns an exit code for each process that could not be started.
	Spawn(ctx context.Context, cmd string, args []string, n int, info, preput map[string]string) ([]int, error)
	// SpawnMultiple is Spawn of several programs. The processes of earlier programs have lower
	// ranks.
	SpawnMultiple(ctx context.Context, programs []Program, preput map[string]string) ([]int, error)
	// Parent tells whether this process was spawned; then Get finds the pairs that the parent
	// preput.
	Parent() bool
}

// A Program says which program to spawn N processes of.
type Program struct {
	Path string
	Args []string
	N    int
	Info map[string]string
}

// A Namer is a Boot with which processes of different jobs find each other's ports by a service
// name (MPI-4.1, 11.9.5).
type Namer interface {
	Boot
	Publish(ctx context.Context, service, port string) error
	Unpublish(ctx context.Context, service string) error
	Lookup(ctx context.Context, service string) (port string, err error)
}
