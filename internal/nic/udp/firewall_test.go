package udp_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/kernel"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A walled device sends nothing from its second socket.
type walled struct {
	dgram.Device
	opened []dgram.Socket
}

type wall struct{ dgram.Socket }

func (wall) Send(batch []dgram.Packet) (int, error) { return len(batch), nil }

func (w *walled) Open(at netip.AddrPort) (dgram.Socket, error) {
	s, err := w.Device.Open(at)
	w.opened = append(w.opened, s)
	if len(w.opened) > 1 {
		s = wall{s}
	}
	return s, err
}

// If only one of the two ports can be reached, the error names the missing one.
func TestAClosedDataPortIsNamed(t *testing.T) {
	w := &walled{}
	listener, err := udp.Provider{Insecure: true, CloseDrain: -1, Datagrams: func() (_ dgram.Device, err error) {
		w.Device, err = kernel.Open(kernel.Options{})
		return w, err
	}}.Open(nic.Config{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	attrs := nic.PortAttrs{Reliability: nic.ReliableReception, RecvDepth: 1, SendDepth: 1}
	accept, err := listener.OpenPort(attrs, nil)
	require.NoError(t, err)
	require.NoError(t, accept.PostRecv(&nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}))
	d, port := dial(t, udp.Provider{GiveUp: 500 * time.Millisecond, TimeoutMax: 20 * time.Millisecond, CloseDrain: -1}, nic.Config{}, listener.LocalAddr())
	var end error
	require.Eventually(t, func() bool {
		var out [4]nic.Event
		for _, e := range out[:listener.Poll(out[:])] {
			if e.Kind == nic.EventConnectRequest {
				require.NoError(t, listener.Accept(e.Conn.Request, accept))
			}
		}
		for _, e := range out[:d.Poll(out[:])] {
			switch e.Kind {
			case nic.EventConnected:
				_, err := port.PostSend(&nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: make([]byte, 8000)}}})
				require.NoError(t, err)
			case nic.EventDisconnected:
				end = e.Conn.Err
			}
		}
		return end != nil
	}, wallclock.Patience, time.Millisecond)
	require.ErrorIs(t, end, nic.ErrTimeout)
	assert.ErrorContains(t, end, fmt.Sprintf("second UDP port, %d,", w.opened[1].Addr().Port()))
}
