package jobtest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/info"
)

// Variables of the program "files".
const (
	fileVariable   = "JOBTEST_FILE"   // the name of the file
	victimVariable = "JOBTEST_VICTIM" // the rank that is killed
	momentVariable = "JOBTEST_MOMENT" // how long it lives, in microseconds
)

// fileRanks write fileCount numbers each, in turns: enough for the ranks of a host to share the buffers of the aggregators.
const (
	fileRanks = 4
	fileCount = 100_000
)

// TestARankIsKilledWhileTheyWriteAFile kills a rank at a random moment of collective writes. The others get an error, each
// number in the file is of one of the rounds, and then the others write the file again without that rank.
func TestARankIsKilledWhileTheyWriteAFile(t *testing.T) {
	kills := 40
	if testing.Short() {
		kills = 2
	}
	random := rand.New(rand.NewPCG(19, 3))
	for _, method := range deadly() {
		t.Run("over="+method, func(t *testing.T) {
			for range kills {
				victim, moment := random.IntN(fileRanks), random.IntN(40_000)
				name := filepath.Join(t.TempDir(), "file")
				what := fmt.Sprintf("rank %d after %d µs", victim, moment)
				newJob(t, fileRanks, "files", method, "-keep-going").env(fileVariable, name).
					env(victimVariable, strconv.Itoa(victim)).env(momentVariable, strconv.Itoa(moment)).start().survived(killedCode)
				mem, err := os.ReadFile(name)
				require.NoError(t, err, what)
				require.GreaterOrEqual(t, len(mem), 4*(fileRanks-1)*fileCount, what)
				for at := range len(mem) / 4 {
					number := int(binary.NativeEndian.Uint32(mem[4*at:]))
					if at < (fileRanks-1)*fileCount {
						require.Equal(t, 2*at, number, "%s: number %d, as the others wrote it", what, at)
					} else if number != 0 { // the rank may have died before the first round was in the file
						require.Equal(t, at, number/2, "%s: number %d", what, at)
					}
				}
			}
		})
	}
}

// files writes rounds of a file until a rank is killed, and then, without it, the last one.
func files(t *checker, p *mpi.Process) {
	c, name := p.World(), os.Getenv(fileVariable)
	f := openTurns(t, c, name)
	require.NoError(t, writeTurns(f, c, 0))
	if os.Getenv(victimVariable) == strconv.Itoa(c.Rank()) {
		moment, err := strconv.Atoi(os.Getenv(momentVariable))
		require.NoError(t, err)
		time.AfterFunc(time.Duration(moment)*time.Microsecond, func() { _ = unix.Kill(os.Getpid(), unix.SIGKILL) })
	}
	var err error
	began := time.Now()
	for round := 1; err == nil; round++ {
		began = time.Now()
		err = writeTurns(f, c, round%2)
	}
	if os.Getenv(victimVariable) == strconv.Itoa(c.Rank()) {
		wallclock.Forever() // another one has noticed before this one is gone
	}
	require.Less(t, time.Since(began), noticeTimeMax)
	require.Contains(t, []mpi.ErrorClass{mpi.ErrProcFailed, mpi.ErrRevoked}, errclass.Of(err), "%v", err)
	_ = f.Close(bg) // it may say that a rank is lost
	require.NoError(t, c.Revoke())
	c, err = c.Shrink(bg)
	require.NoError(t, err)
	require.Equal(t, fileRanks-1, c.Size())
	f = openTurns(t, c, name)
	require.NoError(t, writeTurns(f, c, 0))
	require.NoError(t, f.Close(bg))
}

// openTurns opens the file for numbers that the ranks write in turns.
func openTurns(t *checker, c *mpi.Comm, name string) *file.File {
	hints, err := info.New("cb_buffer_size", "131072", "romio_cb_write", "enable", "cb_nodes", "2")
	require.NoError(t, err)
	f, err := file.Open(bg, c, name, file.ModeRdwr|file.ModeCreate, hints)
	require.NoError(t, err)
	turn, err := datatype.Resized(datatype.Int32, 0, 4*c.Size())
	require.NoError(t, err)
	require.NoError(t, f.SetView(bg, int64(4*c.Rank()), datatype.Int32, turn, file.Native, nil))
	return f
}

// writeTurns writes a round: a number is twice its place in the file, and the round.
func writeTurns(f *file.File, c *mpi.Comm, round int) error {
	xs := make([]int32, fileCount)
	for i := range xs {
		xs[i] = int32(2*(i*c.Size()+c.Rank()) + round)
	}
	_, err := f.WriteAtAll(bg, 0, mpi.Slice(xs))
	return err
}
