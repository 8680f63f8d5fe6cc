package main

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/heat"
	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/job"
)

func TestTheResultIsTheSerialOne(t *testing.T) {
	b := job.Build(t)
	picture := filepath.Join(t.TempDir(), "heat.png")
	for _, s := range job.Settings() {
		t.Run(s.String(), func(t *testing.T) {
			out := b.MustRun(t, s, "-rows", "61", "-cols", "47", "-steps", "80", "-check", "-out", picture)
			assert.Contains(t, out, "heat: the same as the serial solution, bit for bit\n")
			f, err := os.Open(picture)
			require.NoError(t, err)
			defer func() { assert.NoError(t, f.Close()) }()
			img, err := png.Decode(f)
			require.NoError(t, err)
			assert.Equal(t, 47, img.Bounds().Dx())
			assert.Equal(t, 61, img.Bounds().Dy())
		})
	}
	four := job.Setting{N: 4, Method: "via+shm"}
	t.Run("an odd and an even number of steps, one cell for each process", func(t *testing.T) {
		for _, steps := range []string{"0", "1", "2", "3"} {
			assert.Contains(t, b.MustRun(t, four, "-rows", "2", "-cols", "2", "-steps", steps, "-check"), "bit for bit")
		}
	})
	t.Run("bad input", func(t *testing.T) {
		assert.Contains(t, b.MustFail(t, four, "-rows", "1"), "too small for 2 × 2 processes")
		assert.Contains(t, b.MustFail(t, four, "-rate", "0.3"), "beyond which the result oscillates")
		assert.Contains(t, b.MustFail(t, four, "-rows", "4", "-cols", "4", "-out", "/no/such/folder/x.png"), "/no/such/folder")
	})
}

// TestOneBitIsSeen: the comparison finds a single wrong bit.
func TestOneBitIsSeen(t *testing.T) {
	problem := heat.Problem{Rows: 5, Cols: 4, Steps: 3, Rate: heat.RateMax, Initial: heat.HotSpots(5, 4)}
	plate := problem.Serial()
	require.NoError(t, compare(plate, problem.Serial()))
	plate.Set(3, 2, -plate.At(3, 2))
	assert.ErrorContains(t, compare(plate, problem.Serial()), "row 3, column 2")
}
