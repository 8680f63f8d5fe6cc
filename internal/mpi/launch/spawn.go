package launch

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
)

// A spawnRequest is a process's request to start others.
type spawnRequest struct {
	programs []Program
	preput   map[string]string
	answer   chan error // capacity 1
}

var errOver = errors.New("the job is ending")

// spawn is called by the server. It asks the loop, which starts all processes or none. They get the
// environment of the process that asks, and its working directory unless the request names another.
func (j *job) spawn(parent *process, programs []wire.Spawn) ([]int, error) {
	r := &spawnRequest{preput: map[string]string{}, answer: make(chan error, 1)}
	count := 0
	for _, p := range programs {
		r.programs = append(r.programs, Program{N: p.Processes, Path: p.Program, Args: p.Args, Env: parent.program.Env, Dir: spawnDir(parent.program.Dir, p.Info)})
		count += p.Processes
	}
	for _, pair := range programs[0].Preput {
		r.preput[pair.Key] = pair.Value
	}
	select {
	case j.events <- event{kind: spawning, spawn: r}:
	case <-j.over:
		return nil, errOver
	}
	if err := <-r.answer; err != nil {
		return nil, err
	}
	return make([]int, count), nil
}

// spawnDir is the working directory of spawned processes: that of their parent, unless the request
// names another (MPI-4.1, 11.8.4). Other keys may be ignored.
func spawnDir(dir string, info []wire.Pair) string {
	for _, pair := range info {
		if pair.Key == "wdir" {
			dir = pair.Value
		}
	}
	return dir
}

// takeSpawn starts a group. If one of its processes cannot be started, it kills the earlier ones:
// then the spawn fails, but not the job.
func (j *job) takeSpawn(r *spawnRequest) error {
	if j.ending || j.interrupted {
		return errOver
	}
	programs, err := j.cfg.resolveAll(r.programs, j.running)
	if err != nil {
		return err
	}
	if err := j.startGroup(programs, r.preput); err != nil {
		g := j.groups[len(j.groups)-1]
		g.abandoned = true
		g.signal(unix.SIGKILL, false)
		if g.running == 0 {
			j.forget(g)
		}
		return err
	}
	return nil
}

// forget removes a spawned group when all its processes have ended, because a job may spawn for
// ever.
func (j *job) forget(g *group) {
	g.stopLate()
	if g.server != nil {
		g.server.Close()
	}
	j.groups = slices.DeleteFunc(j.groups, func(other *group) bool { return other == g })
}
