package client_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// BenchmarkNames measures files without data: create, stat with empty caches, list with attributes, and remove.
func BenchmarkNames(b *testing.B) {
	for _, method := range pvfstest.Methods {
		c := pvfstest.Start(b, pvfstest.Options{Method: method})
		f := mount(b, c, client.Options{})
		require.NoError(b, f.Mkdir(ctx, "d", 0o755))
		made := 0
		b.Run("create/"+method, func(b *testing.B) {
			for b.Loop() {
				file, err := f.OpenFile(ctx, fmt.Sprint("d/", made), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
				require.NoError(b, err)
				require.NoError(b, file.Close())
				made++
			}
		})
		cold := mount(b, c, client.Options{NameTime: -1, SizeTime: -1})
		b.Run("stat/"+method, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				_, err := cold.StatCtx(ctx, fmt.Sprint("d/", i%made))
				require.NoError(b, err)
			}
		})
		b.Run("list/"+method, func(b *testing.B) {
			for b.Loop() {
				infos, err := cold.ReadDirPlus(ctx, "d")
				require.NoError(b, err)
				require.Len(b, infos, made)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(made), "ns/entry")
		})
		b.Run("remove/"+method, func(b *testing.B) {
			for b.Loop() {
				if made == 0 {
					b.Skip("all are gone")
				}
				made--
				require.NoError(b, f.Remove(ctx, fmt.Sprint("d/", made)))
			}
		})
	}
}
