package rpc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestOtherMethodsCarryTheLargestRequest: a request may have 16384 bytes over each method.
func TestOtherMethodsCarryTheLargestRequest(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	for _, method := range []string{"mem", "tcp", "via+shm", "via+udp"} {
		t.Run(method, func(t *testing.T) {
			w := newWorld(t, method)
			var d disk
			_, address, _ := w.serve(d.handle, ServerOptions{})
			c, to := w.caller(address, Options{})
			most, err := c.ep.MaxUnexpectedSize(to)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, most, proto.MaxUnexpected)
			data := random(1 << 20)
			_, err = c.WriteFlow(t.Context(), &Flow{To: to, Request: ioReq(0, 1<<20), Total: 1 << 20, Memory: Bytes(data)})
			require.NoError(t, err)
			into := make([]byte, 1<<20)
			_, err = c.ReadFlow(t.Context(), &Flow{To: to, Request: ioReq(0, 1<<20), Total: 1 << 20, Memory: Bytes(into)})
			require.NoError(t, err)
			assert.Equal(t, data, into)
		})
	}
}
