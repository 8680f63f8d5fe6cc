package exchange

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var background = context.Background()

// pair runs rank 0 as an aggregator that collects one list, and rank 1 as its client.
func pair(t *testing.T, client func(tm *team.Team), collected func(tm *team.Team, parts []part, err error)) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		tm, err := team.New(background, p.World(), "the file")
		require.NoError(t, err)
		if tm.Rank() == 1 {
			client(tm)
		} else {
			w := twophase.Span{Low: 100, High: 1 << 20}
			plan := twophase.New([]twophase.Span{{}, w}, []int{0}, 1, 1<<20)
			o := &Op{Team: tm, Plan: plan}
			parts, err := o.collect(background, w, 0)
			collected(tm, parts, err)
		}
		require.NoError(t, p.World().Barrier(background))
		require.NoError(t, tm.Close(background))
	})
}

// TestLists: lists of any length arrive.
func TestLists(t *testing.T) {
	for _, n := range []int64{0, 1, 500, 5000, 60_000} {
		var l ranges.List
		for i := range n {
			l.Add(ranges.One(101+7*i+i%3, 1+i%2))
		}
		pair(t, func(tm *team.Team) {
			require.NoError(t, waitAll(background, sendList(tm, l, 0)))
		}, func(_ *team.Team, parts []part, err error) {
			require.NoError(t, err)
			require.Len(t, parts, 1)
			assert.Equal(t, 1, parts[0].rank)
			assert.Equal(t, l, parts[0].list)
		})
	}
}

// TestDamagedLists: messages that no client sends break the team, and nothing else.
func TestDamagedLists(t *testing.T) {
	length := func(n uint64, rest ...byte) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, n), rest...)
	}
	good := ranges.List{ranges.One(200, 5)}.Append(nil)
	outside := ranges.List{ranges.One(50, 5)}.Append(nil)
	for name, message := range map[string][]byte{
		"empty":          {},
		"cut":            {1, 2, 3},
		"too long":       length(1 << 40),
		"longer":         length(1, good...),
		"damaged":        length(2, 0xff, 0xff),
		"outside":        length(uint64(len(outside)), outside...),
		"without length": good,
	} {
		pair(t, func(tm *team.Team) {
			_, _ = tm.Isend(message, 0, team.TagList).Wait(background)
		}, func(tm *team.Team, _ []part, err error) {
			assert.ErrorIs(t, err, errclass.Intern, name)
			assert.Error(t, tm.Broken(), name)
		})
	}
}
