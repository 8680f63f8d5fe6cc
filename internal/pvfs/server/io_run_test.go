package server

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestRunsArePieces compares runs with the pieces that a client uses.
func TestRunsArePieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		n := 1 + rng.IntN(5)
		dist := proto.Dist{Name: proto.DistStripe, StripSize: 1 + rng.Int64N(100)}
		req, err := datatype.Vector(rng.Int64N(50), 1+rng.IntN(20), 1+rng.Int64N(9), 10+rng.Int64N(50))
		require.NoError(t, err)
		if rng.IntN(2) == 0 {
			req = proto.ByteStream()
		}
		off, count := rng.Int64N(1000), rng.Int64N(500)
		for i := range n {
			tr, err := transferOf(newThrottle(1).turn(context.Background()), dist, uint32(i), uint32(n), req, off, count)
			require.NoError(t, err)
			var places, want []int64
			for r := range tr.runs() {
				for b := range r.len {
					places = append(places, r.phys+b)
				}
			}
			for p := range tr.op.Pieces(i) {
				for b := range p.Len {
					want = append(want, p.Phys+b)
				}
			}
			require.Equal(t, want, places)
			size := rng.Int64N(600)
			all, stored, err := tr.bytes(size)
			require.NoError(t, err)
			require.Equal(t, int64(len(want)), all)
			require.Equal(t, tr.op.Stored(i, size), stored)
		}
	}
}

func TestCursor(t *testing.T) {
	req, err := datatype.Vector(0, 10, 4, 10)
	require.NoError(t, err)
	tr, err := transferOf(newThrottle(1).turn(context.Background()), stripe.Default(proto.DistBasic), 0, 1, req, 0, 40)
	require.NoError(t, err)
	c := tr.cursor()
	defer c.stop()
	var got []int64
	for _, n := range []int{3, 1, 9, 0, 27} {
		require.NoError(t, c.each(make([]byte, n), func(part []byte, phys int64) error {
			for i := range part {
				got = append(got, phys+int64(i))
			}
			return nil
		}))
	}
	for i := range 40 {
		require.Equal(t, int64(i/4*10+i%4), got[i])
	}
	require.Error(t, c.each([]byte{1}, func([]byte, int64) error { return nil }))
}

// TestRunsOfEverything tests sizes near 2^63: no walk may take long.
func TestRunsOfEverything(t *testing.T) {
	for _, d := range []proto.Dist{{Name: proto.DistStripe, StripSize: 1}, stripe.Default(proto.DistTwoD), stripe.Default(proto.DistBasic)} {
		tr, err := transferOf(newThrottle(1).turn(context.Background()), d, 0, 1, proto.ByteStream(), 1, math.MaxInt64-1)
		require.NoError(t, err)
		all, stored, err := tr.bytes(1 << 50)
		require.NoError(t, err)
		require.Equal(t, int64(math.MaxInt64-1), all)
		require.Equal(t, int64(1<<50-1), stored)
	}
}
