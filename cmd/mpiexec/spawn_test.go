package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// spawn makes the processes of a job start three more of two programs, which are both this binary,
// and adds up numbers with them.
func spawn(ctx context.Context, p *mpi.Process) int {
	inter := p.Parent()
	if inter == nil {
		self, err := os.Executable()
		if err != nil {
			fmt.Println(err)
			return 20
		}
		commands := []mpi.Command{{Program: self, Args: []string{"first"}, N: 1}, {Program: self, Args: []string{"second"}, N: 2}}
		var codes []int
		if inter, codes, err = p.World().Spawn(ctx, 1, commands...); err != nil {
			fmt.Println("spawn:", err)
			return 21
		}
		fmt.Println("spawned", codes)
	}
	all, err := inter.Merge(ctx, p.Parent() != nil)
	if err != nil {
		fmt.Println("merge:", err)
		return 22
	}
	mine, sum := int64(all.Rank())+1, int64(0)
	if err := all.Allreduce(ctx, mpi.Value(&mine), mpi.Value(&sum), mpi.Sum); err != nil {
		fmt.Println("allreduce:", err)
		return 23
	}
	fmt.Printf("%v, rank %d of %d: sum %d\n", os.Args[1:], all.Rank(), all.Size(), sum)
	if err := inter.Disconnect(ctx); err != nil {
		fmt.Println("disconnect:", err)
		return 24
	}
	if err := p.Finalize(ctx); err != nil {
		fmt.Println("finalize:", err)
		return 25
	}
	return 0
}

func checkSpawn(t *testing.T, out string) {
	t.Helper()
	assert.Equal(t, 2, strings.Count(out, "spawned [0 0 0]\n"), "%s", out)
	for rank, args := range []string{"", "", "first", "second", "second"} {
		assert.Contains(t, out, fmt.Sprintf("[%s], rank %d of 5: sum 15\n", args, rank))
	}
	assert.Equal(t, 7, strings.Count(out, "\n"), "%s", out)
}

func TestSpawn(t *testing.T) {
	for _, method := range []string{"", "via+shm", "tcp"} {
		t.Run("MPI_METHOD="+method, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			var errs bytes.Buffer
			cmd := mpiexec(t, "-n", "2", "-env", mainVariable+"=", "-env", programVariable+"=spawn", "-env", "MPI_METHOD="+method, self)
			cmd.Stderr = &errs
			out, err := cmd.Output()
			require.NoError(t, err, "%s%s", out, errs.String())
			checkSpawn(t, string(out))
		})
	}
}

func TestSpawnUnderHydra(t *testing.T) {
	hydra := need.Program(t, "mpiexec.hydra")
	for _, version := range []string{"1", "2"} {
		t.Run("PMI-"+version, func(t *testing.T) {
			checkSpawn(t, under(t, "spawn", []string{pmi.VersionEnv + "=" + version}, hydra, "-n", "2"))
		})
	}
}

// cannotJoin is the argument of processes that fail in Init.
const cannotJoin = "cannot join"

// spawnInVain makes a process start others that fail in Init.
func spawnInVain(ctx context.Context, p *mpi.Process) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return 26
	}
	_, _, err = p.World().Spawn(ctx, 0, mpi.Command{Program: self, Args: []string{cannotJoin}, N: 2})
	fmt.Println("spawn:", err)
	if err := p.Finalize(ctx); err != nil {
		fmt.Println("finalize:", err)
		return 27
	}
	return 0
}

// TestSpawnInVain: processes that wait for others which fail get an error.
func TestSpawnInVain(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := mpiexec(t, "-n", "1", "-keep-going", "-env", mainVariable+"=", "-env", programVariable+"=spawn in vain", self)
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "the new processes end with a code: %s", out)
	assert.Regexp(t, `spawn: .*cannot connect.*unheard-of`, string(out))
}
