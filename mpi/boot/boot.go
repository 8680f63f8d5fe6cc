// Package boot is how a process finds the others of its job: the seam between package mpi
// and whatever started the processes.
//
// Package mpi/pmi implements it for processes under mpiexec, Hydra and Slurm; Local is its
// twin in memory, for jobs whose ranks share one process, as tests do.
package boot

import "context"

// A Boot is one process's view of its job. Keys and values are text without blanks, '=' or
// ';', and may be limited to KeyMax and ValueMax bytes: who has more to say splits it.
type Boot interface {
	// Rank is this process, 0 ≤ Rank < Size.
	Rank() int
	// Size is the number of processes that were started together.
	Size() int
	// JobID is unique among the jobs of a launcher, and the same in all processes of one.
	JobID() string
	// KeyMax and ValueMax are the longest key and value, in bytes.
	KeyMax() int
	ValueMax() int
	// Put makes a pair visible to the others after the next Fence.
	Put(ctx context.Context, key, value string) error
	// Get returns a value that was put before the latest Fence.
	Get(ctx context.Context, key string) (string, error)
	// Fence waits until every process of the job called it.
	Fence(ctx context.Context) error
	// Secret is a key that only processes of this job know; empty if the launcher has none.
	Secret() []byte
	// Abort ends the whole job with an exit code. It returns only if it cannot.
	Abort(code int, why string) error
	// Finalize says that this process leaves in good order, which no process does before
	// all have said so.
	Finalize(ctx context.Context) error
	// Close gives back what the Boot has. After Finalize, or when all is lost.
	Close() error
}

// A Spawner is a Boot that can start more processes (MPI-4.1, 11.8).
type Spawner interface {
	Boot
	// Spawn starts n processes of a program, which form a job of their own that finds
	// preput among its pairs from the start, and returns an exit code for each that
	// could not be started.
	Spawn(ctx context.Context, cmd string, args []string, n int, info, preput map[string]string) ([]int, error)
	// SpawnMultiple is Spawn of several programs, of which the first ones' processes have
	// the lower ranks.
	SpawnMultiple(ctx context.Context, programs []Program, preput map[string]string) ([]int, error)
	// Parent tells whether this process was spawned; then Get finds what the parent preput.
	Parent() bool
}

// A Program is one to spawn N processes of.
type Program struct {
	Path string
	Args []string
	N    int
	Info map[string]string
}

// A Namer is a Boot under which processes of different jobs find each other's ports by a
// service name (MPI-4.1, 11.9.5).
type Namer interface {
	Boot
	Publish(ctx context.Context, service, port string) error
	Unpublish(ctx context.Context, service string) error
	Lookup(ctx context.Context, service string) (port string, err error)
}
