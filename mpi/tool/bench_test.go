package tool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
)

// BenchmarkRead reads one variable of a process with via+shm open, and all of them at once.
func BenchmarkRead(b *testing.B) {
	boots, err := boot.Local(1)
	require.NoError(b, err)
	p, err := mpi.Init(bg, mpi.Options{Boot: boots[0], Method: "via+shm"})
	require.NoError(b, err)
	defer func() { require.NoError(b, p.Finalize(bg)) }()
	i, err := tool.Open(p)
	require.NoError(b, err)
	defer i.Close()
	s := i.Session()
	h, err := s.Handle("mpi.early_now", nil)
	require.NoError(b, err)
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			_, err := h.Read()
			require.NoError(b, err)
		}
	})
	all, err := i.Performance()
	require.NoError(b, err)
	for _, v := range all {
		_, err := s.Handle(v.Name, nil)
		if err != nil {
			require.ErrorIs(b, err, tool.ErrInvalidHandle) // it is a communicator's
		}
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			_, err := s.Read()
			require.NoError(b, err)
		}
	})
}
