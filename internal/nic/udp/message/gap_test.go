package message

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestNothingSucceedsBehindAGap: a message that arrived behind a missing one took no
// effect; when the connection ends its descriptor must not report success.
func TestNothingSucceedsBehindAGap(t *testing.T) {
	for name, end := range map[string]func(*Queue){
		"flush": func(q *Queue) { q.Flush(nic.StatusFlushed) },
		"leave": (*Queue).Leave,
	} {
		t.Run(name, func(t *testing.T) {
			p := plainPair(t, nic.ReliableReception)
			for range 3 {
				require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, 8))))
			}
			p.post(send(make([]byte, 8)))
			p.run()
			second, third := p.post(send(make([]byte, 8))), p.post(send(make([]byte, 8)))
			p.emit(0, LanePriority, 1000)
			p.emit(0, LanePriority, 1000)
			p.land(1, false)
			p.ack(0)
			assert.Len(t, p.all(0), 1)
			end(p.sides[0].q)
			assert.Equal(t, []*nic.Descriptor{second, third}, p.all(0))
			assert.Equal(t, nic.StatusFlushed, second.Status)
			assert.Equal(t, nic.StatusFlushed, third.Status, "nobody took it")
			assert.Zero(t, third.Length)
			assert.Len(t, p.all(1), 1)
		})
	}
}

// TestBothSidesAgreeBehindAGap: a side that ends the connection reports in its farewell which
// messages took effect there. Messages after a gap did not, although they had arrived.
func TestBothSidesAgreeBehindAGap(t *testing.T) {
	p := plainPair(t, nic.ReliableReception)
	require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, 8))))
	first, none := p.post(send(make([]byte, 8))), p.post(send(make([]byte, 8)))
	behind := p.post(rdma(nic.OpRDMAWrite, 0, make([]byte, 8)))
	for p.emit(0, LanePriority, 1000) || p.emit(0, LaneData, 1000) {
	}
	p.land(2, false) // the write, which is behind a gap
	p.ack(0)
	p.land(0, false)
	p.land(0, false)
	p.acks = nil // lost
	p.once()
	p.broke(nic.ErrProtocol)
	assert.Equal(t, []*nic.Descriptor{first, none, behind}, p.all(0))
	assert.Equal(t, nic.StatusSuccess, first.Status)
	assert.Equal(t, nic.StatusNoDescriptor, none.Status)
	assert.Equal(t, nic.StatusFlushed, behind.Status)
}
