package server_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestReadWhatChanges reads a file with holes that grows, is truncated and written again, over each method. The bytes read are
// those of the file, also if they are sent from files.
func TestReadWhatChanges(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			k := newKit(t, pvfstest.Options{Method: method})
			f := k.create(0, 2, stripe.Default(proto.DistStripe))
			want := make([]byte, 9<<20)
			put := func(at, n int, seed byte) {
				data := pattern(n, seed)
				f.write(int64(at), data)
				copy(want[at:], data)
			}
			size := 0
			check := func(end int) {
				t.Helper()
				size = max(size, end)
				for _, part := range [][2]int{{0, size}, {1, size - 1}, {4095, 3 << 20}, {size / 2, size}} {
					got := f.read(int64(part[0]), part[1])
					require.True(t, bytes.Equal(want[part[0]:min(part[0]+part[1], size)], got), "%d bytes from %d on", part[1], part[0])
				}
			}
			put(0, 2<<20+5, 1)
			check(2<<20 + 5)
			put(6<<20, 1<<20+77, 2) // after a hole
			check(7<<20 + 77)
			put(1<<20-3, 100_000, 3) // over bytes that were read
			check(0)
			for i, h := range f.attr.Datafiles {
				require.Equal(t, proto.OK, k.status(f.datafileServer(i), &f.header, &proto.TruncateReq{Handle: h, FS: k.c.FS.ID, Size: 1 << 20}))
			}
			clear(want[2<<20:])
			put(6<<20, 1<<20+77, 4)
			check(0)
		})
	}
}
