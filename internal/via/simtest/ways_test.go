package simtest

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/trace"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestLargeMessagesGoTheFasterWay: the receiver of large messages learns whether they move faster by RDMA or in packets, and a message
// for which RDMA is no copy always goes by RDMA.
func TestLargeMessagesGoTheFasterWay(t *testing.T) {
	const size, messages = 256 << 10, 60
	for name, tc := range map[string]struct {
		rdma, send time.Duration // how long each takes at most
		copies     bool          // nic.Caps.RDMACopies
		slow       bool          // RDMA loses
	}{
		"RDMA is slower":                  {10 * time.Millisecond, time.Microsecond, true, true},
		"packets are slower":              {time.Microsecond, 10 * time.Millisecond, true, false},
		"RDMA is slower, and not by copy": {10 * time.Millisecond, time.Microsecond, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, simnic.Options{RDMATimeMax: tc.rdma, SendDelayMax: tc.send})
			var log bytes.Buffer
			s.wrap = func(p nic.Provider) nic.Provider { return trace.Wrap(p, trace.ToWriter(&log), trace.Options{}) }
			caps := simnic.DefaultCaps()
			caps.RDMACopies = tc.copies
			opts := via.Options{Credits: 8} // so that packets wait for some
			a, b := s.open("a", caps, opts), s.open("b", caps, opts)
			join(a, b, "b", "a")
			for i := range messages {
				if i == messages/2 {
					log.Reset()
				}
				buf := make([]byte, size)
				b.recv(b.to("a"), 1, buf, i)
				a.send(a.to("b"), 1, bytes.Repeat([]byte{byte(i)}, size), i)
				require.NoError(t, b.wait(i).Err)
				require.NoError(t, a.wait(i).Err)
				require.Equal(t, bytes.Repeat([]byte{byte(i)}, size), buf)
			}
			rdma := bytes.Count(log.Bytes(), []byte("rdma-read"))
			if tc.slow {
				assert.Less(t, rdma, messages/4, "of %d messages", messages/2)
			} else {
				assert.Greater(t, rdma, messages/4, "of %d messages", messages/2)
			}
		})
	}
}
