package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// A launcher says how many processes it can run, and which command started this one.
type launcher struct {
	*boot.LocalBoot
	universe, appNum int
}

func (l launcher) UniverseSize() int { return l.universe }
func (l launcher) AppNum() int       { return l.appNum }

func TestPredefinedAttributes(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		class, err := p.AddErrorClass()
		require.NoError(t, err)
		for _, k := range []struct {
			key  *mpi.Keyval
			want any
		}{
			{mpi.KeyTagUB, mpi.TagUB}, {mpi.KeyIO, mpi.AnySource}, {mpi.KeyHost, mpi.ProcNull},
			{mpi.KeyWtimeIsGlobal, false}, {mpi.KeyLastUsedCode, int(class)},
		} {
			got, ok, err := w.Attr(k.key)
			require.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, k.want, got)
			require.ErrorIs(t, w.SetAttr(k.key, 1), mpi.ErrKeyval)
			require.ErrorIs(t, w.DeleteAttr(k.key), mpi.ErrKeyval)
		}
		for _, key := range []*mpi.Keyval{mpi.KeyUniverseSize, mpi.KeyAppNum} {
			_, ok, err := w.Attr(key)
			require.NoError(t, err)
			assert.False(t, ok, "this launcher does not say")
		}
	})
	boots, err := boot.Local(1)
	require.NoError(t, err)
	p, err := mpi.Init(bg, mpi.Options{Boot: launcher{boots[0], 12, 0}, Method: "mem"})
	require.NoError(t, err)
	size, ok, err := p.Self().Attr(mpi.KeyUniverseSize)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, 12, size)
	app, ok, err := p.Self().Attr(mpi.KeyAppNum)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, 0, app)
	require.NoError(t, p.Finalize(bg))
}
