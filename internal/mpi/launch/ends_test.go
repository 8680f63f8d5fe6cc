package launch

import (
	"bufio"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
)

// If a process dies before Init and the job goes on, its death is reported once, with the exit
// code, and the others do not wait for its Init.
func TestGoingOnWithoutWhoDiedBeforeInit(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3": "ended with exit code 3", "exit 0": "ended with exit code 0 without calling Init",
	} {
		var said []string
		j := &job{
			cfg:     Config{KeepGoing: true, InitTimeout: time.Hour, Report: func(s string) { said = append(said, s) }},
			running: 3, kill: time.NewTimer(time.Hour), early: map[int64]*process{},
		}
		defer j.kill.Stop()
		g := &group{running: 3, server: server.New(server.Config{Name: "job", Size: 3})}
		for rank := range 3 {
			p := &process{job: j, group: g, rank: rank, cmd: exec.Command("sh", "-c", script)}
			_ = p.cmd.Run()
			g.processes = append(g.processes, p)
		}
		j.groups = []*group{g}
		j.takeEnd(g.processes[1])
		for _, rank := range []int{0, 2} {
			ours, theirs := net.Pipe()
			served := make(chan error, 1)
			go func() { served <- g.server.Serve(rank, theirs) }()
			_, err := ours.Write([]byte("cmd=init pmi_version=1 pmi_subversion=1\n"))
			require.NoError(t, err)
			_, err = bufio.NewReader(ours).ReadString('\n')
			require.NoError(t, err)
			_ = ours.Close()
			require.NoError(t, <-served)
			j.takeState(g.processes[rank], server.Ready)
		}
		j.takeLate(g)
		g.stopLate()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], want)
		assert.False(t, j.ending)
	}
}

// A job that spawns again and again keeps no state of groups that have ended.
func TestSpawnedGroupsAreForgotten(t *testing.T) {
	j := &job{cfg: Config{Report: func(string) {}}, kill: time.NewTimer(time.Hour), early: map[int64]*process{}}
	defer j.kill.Stop()
	for range 3 {
		g := j.newGroup([]Program{{N: 1}}, nil)
		j.groups = append(j.groups, g)
		p := g.processes[0]
		p.cmd = exec.Command("true")
		require.NoError(t, p.cmd.Run())
		g.running, j.running = 1, j.running+1
	}
	last := j.groups[2]
	j.takeEnd(j.groups[1].processes[0])
	require.Len(t, j.groups, 2)
	assert.Same(t, last, j.groups[1])
	assert.Equal(t, 3, j.newGroup([]Program{{N: 1}}, nil).number, "no number, and so no name, is used twice")
	j.takeEnd(j.groups[0].processes[0])
	require.Len(t, j.groups, 2, "the first is the job's")
}
