package vipl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// hot is a connected VI over a stub whose every Poll reports the same batch of
// receives.
func hot(t testing.TB, batch int) (*NIC, *CQ, *VI) {
	s, n, vi := stubbed(t, true)
	connectStub(t, s, n, vi)
	var ev [1]ConnEvent
	n.PollEvents(ev[:])
	cq, err := n.CreateCQ(256)
	require.NoError(t, err)
	vi.recvCQ = cq
	s.ports[0].done = true
	s.events, s.at, s.loop = nil, 0, true
	for range batch {
		s.events = append(s.events, nic.Event{Kind: nic.EventRecv, Cookie: vi, Desc: &Descriptor{}})
	}
	return n, cq, vi
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	_, cq, vi := hot(t, 4)
	var out [16]Completion
	d := &Descriptor{}
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		for i := range cq.Poll(out[:]) {
			_ = vi.PostRecv(out[i].Desc)
		}
		_, _ = vi.PostSend(d)
	}))
	assert.Equal(t, Completion{VI: vi, Desc: out[0].Desc, Queue: QueueRecv}, out[0])
	_, err := vi.PostSend(d)
	require.NoError(t, err)
}

// BenchmarkRecv is what this package adds between Device.Poll and the consumer,
// for one completion at a time and for a batch of 16.
func BenchmarkRecv(b *testing.B) {
	for name, batch := range map[string]int{"1": 1, "16": 16} {
		b.Run("batch="+name, func(b *testing.B) {
			_, cq, _ := hot(b, batch)
			var out [16]Completion
			for i := 0; i < b.N; {
				i += cq.Poll(out[:])
			}
		})
		b.Run("device alone, batch="+name, func(b *testing.B) {
			n, _, _ := hot(b, batch)
			var out [16]nic.Event
			for i := 0; i < b.N; {
				i += n.dev.Poll(out[:])
			}
		})
	}
}

// BenchmarkSend is what this package adds between the consumer and Port.PostSend.
func BenchmarkSend(b *testing.B) {
	_, _, vi := hot(b, 1)
	d := &Descriptor{}
	b.Run("vi", func(b *testing.B) {
		for range b.N {
			_, _ = vi.PostSend(d)
		}
	})
	b.Run("port alone", func(b *testing.B) {
		for range b.N {
			_, _ = vi.port.PostSend(d)
		}
	})
}
