//go:build linux && amd64

package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// TestTrace executes the real program. The counts are those of code and compiler, so they have limits that no load can break; they
// are a fifth above what was counted without a profile when they were written.
func TestTrace(t *testing.T) {
	program := filepath.Join(t.TempDir(), "traced")
	_, err := programs.Go([]string{"bench/steps/traced"}, "build", "-pgo=off", "-o", program, "./traced")
	require.NoError(t, err)
	phases, err := traceOurs(program, false)
	if errors.Is(err, unix.EPERM) {
		need.Unless(t, need.Trace, err)
	}
	require.NoError(t, err)
	limits := []struct {
		name string
		most float64
	}{
		{"bmi: PostRecv", 610}, {"bmi: PostSend", 680}, {"bmi: TestContext", 980},
		{"bmi: PostRecvs", 450}, {"bmi: PostSends", 500},
		{"mpi: Irecv", 700}, {"mpi: Isend", 1600}, {"mpi: WaitAll of receives", 1400},
	}
	require.Len(t, phases, len(limits))
	for i, want := range limits {
		assert.Equal(t, want.name, phases[i].name)
		assert.Greater(t, phases[i].perMessage(), 50.0, want.name)
		assert.Less(t, phases[i].perMessage(), want.most, want.name)
	}
	assert.Contains(t, phases[2].counts, "matchbits.(*table).find")
}

// TestOtherMPIs counts what is installed of them, as two ranks of a job.
func TestOtherMPIs(t *testing.T) {
	for name, m := range mpiLibraries {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{m.compiler, m.launcher[0]} {
				need.Program(t, command)
			}
			self := filepath.Join(t.TempDir(), "steps")
			out, err := exec.Command("go", "build", "-o", self, ".").CombinedOutput()
			require.NoError(t, err, string(out))
			count := exec.Command(self, "-mpi", name)
			count.Dir = "../.."
			out, err = count.CombinedOutput()
			if strings.Contains(string(out), unix.EPERM.Error()) {
				need.Unless(t, need.Trace, errors.New(string(out)))
			}
			require.NoError(t, err, string(out))
			for _, phase := range []string{"MPI_Irecv", "MPI_Isend", "MPI_Waitall of receives"} {
				found := regexp.MustCompile(`(?m)^` + phase + `: (\d+) instructions per message$`).FindSubmatch(out)
				require.NotNil(t, found, "%s in %s", phase, out)
				n, err := strconv.Atoi(string(found[1]))
				require.NoError(t, err)
				assert.Greater(t, n, 50, phase)
				assert.Less(t, n, 5000, phase)
			}
			assert.Contains(t, string(out), "MPI_Isend\n", "a function that its library exports")
		})
	}
}

func TestPrint(t *testing.T) {
	p := phase{name: "a phase", messages: 4, counts: map[string]int{"a": 8, "b": 40, "c": 40, "d": 2}}
	var out bytes.Buffer
	p.print(&out, 2)
	assert.Equal(t, `a phase: 22 instructions per message
    10.0  b
    10.0  c
     2.0  a
     0.5  everything else

`, out.String())
}

// TestNoSuchProgram: what cannot be executed is an error that says so.
func TestNoSuchProgram(t *testing.T) {
	_, err := traceOurs(filepath.Join(t.TempDir(), "none"), false)
	assert.ErrorContains(t, err, "no such file")
}
