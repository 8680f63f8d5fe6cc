package shm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func TestSendSizes(t *testing.T) {
	for _, loan := range []bool{false, true} {
		f, pa, pb := pair(t, reliable())
		for _, n := range []int{0, 1, 8, 55, 56, 57, 64, 4096, 8191, 8192} {
			d := recvInto(make([]byte, MTUBytes))
			if loan {
				d = recvLoan()
			}
			require.NoError(t, pb.PostRecv(d))
			mustSend(t, pa, pattern(n, byte(n)))
			e := f.next(pb.dev, nic.EventRecv)
			require.Same(t, d, e.Desc)
			require.Equal(t, nic.StatusSuccess, d.Status)
			require.Equal(t, n, d.Length)
			if loan {
				require.Equal(t, pattern(n, byte(n)), d.Data)
			} else {
				require.Equal(t, pattern(n, byte(n)), d.Segments[0].Data[:n])
			}
		}
	}
}
