package server

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// long are transfers of datafile 1 of 2 that take long to walk, each for a different reason.
func long(t *testing.T, turn *turn) map[string]transfer {
	t.Helper()
	const many = datatype.ChunksMax - 2
	spread, err := datatype.Vector(0, many, 1, 4)
	require.NoError(t, err)
	elsewhere, err := datatype.Vector(0, many, 1, 2)
	require.NoError(t, err)
	made := make(map[string]transfer)
	for name, req := range map[string]proto.FileRequest{"many runs": spread, "none of it here": elsewhere} {
		d := proto.Dist{Name: proto.DistStripe, StripSize: 1}
		nr := uint32(1)
		if name == "many runs" {
			nr = 0
		}
		tr, err := transferOf(turn, d, nr, 2, req, 0, many)
		require.NoError(t, err)
		made[name] = tr
	}
	// Blocks that turn out to be adjacent, with empty blocks between them.
	req := proto.FileRequest{
		{NumEreqs: 1, NumBlocks: 1 << 20, Stride: 1, UpperBound: 1 << 20, Aggregate: 1 << 20, Element: 1, Sequence: -1, Committed: -1},
		{NumEreqs: 1, NumBlocks: 1, UpperBound: 2, Aggregate: 1, Element: 2, Sequence: 3},
		proto.ByteStream()[0],
	}
	req[2].Committed = 0
	for i := range int32(20) {
		req = append(req, proto.ReqNode{Element: 2, Sequence: 4 + i})
	}
	req[len(req)-1].Sequence = -1
	tr, err := transferOf(turn, stripe.Default(proto.DistBasic), 0, 1, req, 0, 1<<20)
	require.NoError(t, err)
	made["adjacent after all"] = tr
	return made
}

// TestLongWalksTakeTurns: a request that takes long to walk waits for a place, and stops when its context ends.
func TestLongWalksTakeTurns(t *testing.T) {
	m := newThrottle(1)
	for name := range long(t, m.turn(context.Background())) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			turn := m.turn(ctx)
			waits := 0
			turn.held = func() { waits++ }
			m.places <- struct{}{} // the only place is taken
			defer func() { <-m.places }()
			cancel()
			tr := long(t, turn)[name]
			_, _, err := tr.bytes(1 << 40)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, tr.each(make([]byte, 10), func([]byte, int64) error { return nil }), context.Canceled)
			c := tr.cursor()
			defer c.stop()
			require.ErrorIs(t, c.each(make([]byte, 1<<20), func([]byte, int64) error { return nil }), context.Canceled)
			require.Len(t, m.places, 1)
			require.Equal(t, 1, waits, "a request that waits is counted once")
		})
	}
}

// TestShortBytesTakeTurns: so does a request that reads or writes very many short pieces. It keeps no place while it waits for
// bytes.
func TestShortBytesTakeTurns(t *testing.T) {
	m := newThrottle(1)
	turn := m.turn(context.Background())
	req, err := datatype.Vector(0, 1000, 1, 2)
	require.NoError(t, err)
	tr, err := transferOf(turn, stripe.Default(proto.DistBasic), 0, 1, req, 0, 1000)
	require.NoError(t, err)
	c := tr.cursor()
	defer c.stop()
	inside := 0
	for range 10 {
		require.NoError(t, c.each(make([]byte, 100), func([]byte, int64) error {
			inside += len(m.places)
			return nil
		}))
		require.Empty(t, m.places)
	}
	require.Positive(t, inside)
}

// TestUsualRequestsTakeNone: a request of usual size never waits, even if no place is free.
func TestUsualRequestsTakeNone(t *testing.T) {
	turn := newThrottle(0).turn(context.Background())
	for _, req := range []proto.FileRequest{datatype.Bytes(), must(datatype.Vector(0, 60, 100, 200))} {
		tr, err := transferOf(turn, stripe.Default(proto.DistStripe), 0, 4, req, 0, 6000)
		require.NoError(t, err)
		_, _, err = tr.bytes(1 << 40)
		require.NoError(t, err)
	}
	tr, err := transferOf(turn, stripe.Default(proto.DistBasic), 0, 1, datatype.Bytes(), 0, 1<<30)
	require.NoError(t, err)
	c := tr.cursor()
	defer c.stop()
	b := make([]byte, 256<<10)
	for range 1 << 12 {
		require.NoError(t, c.each(b, func([]byte, int64) error { return nil }))
	}
}

// TestPlacesRest: while requests wait for a place and brief requests come in, a place is used half of the time. Otherwise it is
// always in use.
func TestPlacesRest(t *testing.T) {
	const slices, slice = 100, time.Millisecond
	for _, c := range []struct {
		name  string
		walks int
		brief bool
		want  time.Duration // until all slices are done, without the first of each walk
	}{
		{"one walk", 1, true, slices * slice},
		{"no brief requests", 4, false, 4 * slices * slice},
		{"walks and brief requests", 4, true, 2 * 4 * slices * slice},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, began := newThrottle(1), time.Now()
				var walks sync.WaitGroup
				for range c.walks {
					walks.Go(func() {
						turn := m.turn(t.Context())
						for range slices {
							assert.NoError(t, turn.spend(sliceSteps))
							time.Sleep(slice)
							if c.brief {
								m.ended(nil, time.Now())
							}
							m.ended(turn, time.Now())
						}
						turn.leave()
					})
				}
				walks.Wait()
				require.InDelta(t, c.want, time.Since(began), float64(c.want/50))
				time.Sleep(restMax)
				require.Empty(t, m.places)
			})
		})
	}
}

func must(req proto.FileRequest, err error) proto.FileRequest {
	if err != nil {
		panic(err)
	}
	return req
}
