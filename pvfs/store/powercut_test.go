package store

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest/memory"
)

// TestPowerCuts: after a loss of power a store is as it was when it was synced last, also where nothing is synced but now and then. Bytes that
// were synced are there; what belongs to nothing goes away by itself.
func TestPowerCuts(t *testing.T) {
	for _, noSync := range []bool{true, false} {
		t.Run(fmt.Sprintf("NoSyncMeta=%v", noSync), func(t *testing.T) {
			sim.Run(t, func(t *testing.T, seed uint64) {
				w := newCutWorld(t, seed, noSync)
				for range 4 {
					for range w.rng.IntN(60) {
						if w.step(); w.broken || w.off {
							break
						}
					}
					w.cut()
				}
				require.NoError(t, w.s.Close())
			})
		})
	}
}

// TestHeldPagesAreBounded: the state of the last sync is kept, and the database does not grow by that for ever.
func TestHeldPagesAreBounded(t *testing.T) {
	s := open(t, memory.Dir(t), with(func(o *Options) { o.SyncEvery = 1 << 62 }))
	require.NoError(t, s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	}))
	for i := range 1000 {
		name := fmt.Sprint("f", i)
		require.NoError(t, makeFile(s, name))
		require.NoError(t, dropFile(s, name))
	}
	require.Less(t, s.size.Load(), int64(2*heldMin*os.Getpagesize()))
	require.NotZero(t, s.synced.Load(), "it was synced when too much was held")
}
