package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/group"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

func TestSessions(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{Each: func(rank int, o *mpi.Options) {
		if o.Host = "a"; rank == 2 {
			o.Host = "b"
		}
	}}, func(t *testing.T, p *mpi.Process) {
		s, err := p.OpenSession()
		require.NoError(t, err)
		names, err := s.PSets()
		require.NoError(t, err)
		assert.Equal(t, []string{mpi.WorldSet, mpi.SelfSet, mpi.HostSet}, names)
		sizes := map[string]int{mpi.WorldSet: 3, mpi.SelfSet: 1, mpi.HostSet: 2}
		if p.World().Rank() == 2 {
			sizes[mpi.HostSet] = 1
		}
		for _, name := range names {
			g, err := s.Group(name)
			require.NoError(t, err)
			assert.Equal(t, sizes[name], g.Size(), name)
			c, err := s.CreateFromGroup(bg, g, "of "+name)
			require.NoError(t, err)
			sum := 1
			require.NoError(t, c.Allreduce(bg, mpi.InPlace, mpi.Value(&sum), mpi.Sum))
			assert.Equal(t, c.Size(), sum)
			assert.Equal(t, g.Size(), sum)
			require.NoError(t, c.Free())
		}

		_, err = s.Group("mpi://MOON")
		require.ErrorIs(t, err, mpi.ErrArg)
		_, err = s.CreateFromGroup(bg, nil, "")
		require.ErrorIs(t, err, mpi.ErrGroup)
		other, err := p.OpenSession()
		require.NoError(t, err)
		require.NoError(t, s.Finalize(bg))
		require.ErrorIs(t, s.Finalize(bg), mpi.ErrSession)
		_, err = s.PSets()
		require.ErrorIs(t, err, mpi.ErrSession)
		_, err = other.PSets()
		require.NoError(t, err, "it does not end with another")
		require.NoError(t, other.Finalize(bg))
		_, err = (*mpi.Session)(nil).PSets()
		require.ErrorIs(t, err, mpi.ErrSession)
	})
}

// TestASessionOfItsOwn: it begins and ends its process.
func TestASessionOfItsOwn(t *testing.T) {
	boots, err := boot.Local(1)
	require.NoError(t, err)
	s, err := mpi.OpenSession(bg, mpi.Options{Boot: boots[0], Method: "mem"})
	require.NoError(t, err)
	g, err := s.Group(mpi.WorldSet)
	require.NoError(t, err)
	self, err := s.Group(mpi.SelfSet)
	require.NoError(t, err)
	same, err := group.Compare(g, self)
	require.NoError(t, err)
	assert.Equal(t, group.Ident, same)
	c, err := s.CreateFromGroup(bg, g, "")
	require.NoError(t, err)
	p := c.Process()
	require.NoError(t, c.Free())
	require.NoError(t, s.Finalize(bg))
	_, err = p.OpenSession()
	require.ErrorIs(t, err, mpi.ErrOther)
}

func TestIntercommFromGroups(t *testing.T) {
	mpitest.Run(t, 5, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, err := p.OpenSession()
		require.NoError(t, err)
		all, err := s.Group(mpi.WorldSet)
		require.NoError(t, err)
		low, err := all.Incl([]int{0, 1})
		require.NoError(t, err)
		high, err := all.Incl([]int{4, 3, 2})
		require.NoError(t, err)
		own, other := low, high
		if p.World().Rank() > 1 {
			own, other = high, low
		}
		inter, err := s.IntercommFromGroups(bg, own, 1, other, 1, "both")
		require.NoError(t, err)
		assert.True(t, inter.IsInter())
		ranks := make([]int, other.Size())
		mine := p.World().Rank()
		require.NoError(t, inter.Allgather(bg, mpi.Value(&mine), mpi.Slice(ranks)))
		if own == low {
			assert.Equal(t, []int{4, 3, 2}, ranks)
		} else {
			assert.Equal(t, []int{0, 1}, ranks)
		}
		require.NoError(t, inter.Free())
		_, err = s.IntercommFromGroups(bg, own, 0, other, 9, "nobody leads the other")
		require.ErrorIs(t, err, mpi.ErrRank)
	})
}
