package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// TestLeavingUnheard: a process leaves in good order before it has read the HELLO on a connection to
// it. That connection ends without a BYE, which is on the connection that the process made.
func TestLeavingUnheard(t *testing.T) {
	for name, helloFirst := range map[string]bool{"its connection is known": true, "its connection was not read yet": false} {
		t.Run(name, func(t *testing.T) {
			d := open(t, 1, "tcp", core.Limits{})[0]
			leaver := newLeaver(t, d)
			r, err := leaver.scope.Irecv(room(4), 1, 2)
			require.NoError(t, err)
			var left []*core.Proc
			defer d.e.Observe(func(ev core.Event) {
				if ev.Kind == core.ProcessLeft {
					left = append(left, ev.Proc)
				}
			})()
			unheard := leaver.takes()
			if helloFirst {
				leaver.hello()
				leaver.takes() // the answer to it
			}
			require.NoError(t, leaver.ep.DropAddr(unheard))
			require.Eventually(t, func() bool {
				d.e.Progress()
				return d.ep.Stats().Methods[0].Traffic.Disconnects == 1
			}, limit, time.Millisecond)
			assert.NoError(t, leaver.proc.Err(), "it may have left")
			if !helloFirst {
				leaver.hello()
			}
			leaver.say(wire.KindBye, wire.Bye{}.Append(nil))
			_, err = d.wait(r, nil)
			require.ErrorIs(t, err, errclass.ProcFailed)
			require.ErrorContains(t, err, "has finalized")
			assert.NoError(t, leaver.proc.Err(), "it did not fail")
			assert.Equal(t, []*core.Proc{leaver.proc}, left, "an event says so")
		})
	}
}

// A leaver is a process of which the test writes every packet.
type leaver struct {
	t     *testing.T
	d     *node
	ep    *bmi.Endpoint
	ctx   *bmi.Context
	card  core.Card
	to    bmi.Addr
	proc  *core.Proc  // for node d
	scope *core.Scope // of d and the leaver
}

func newLeaver(t *testing.T, d *node) *leaver {
	ep, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"tcp://127.0.0.1:0"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ep.Close()) })
	l := &leaver{t: t, d: d, ep: ep, card: core.Card{ID: core.ProcID{9}, Host: "here", Addresses: ep.Addresses()}}
	l.ctx, err = ep.OpenContext()
	require.NoError(t, err)
	l.to, err = ep.Lookup(d.ep.Addresses()[0])
	require.NoError(t, err)
	l.proc, err = d.e.Proc(l.card)
	require.NoError(t, err)
	l.scope = d.scope(4, 0, []*core.Proc{d.all[0], l.proc})
	return l
}

// takes takes the next packet, and returns the address that it came from.
func (l *leaver) takes() bmi.Addr {
	var out [1]bmi.Unexpected
	require.Eventually(l.t, func() bool {
		l.d.e.Progress()
		n, err := l.ep.TestUnexpected(out[:], time.Millisecond)
		require.NoError(l.t, err)
		return n == 1
	}, limit, time.Millisecond)
	defer out[0].Release()
	require.Equal(l.t, bmi.Tag(wire.KindHello), out[0].Tag)
	return out[0].From
}

func (l *leaver) hello() {
	h := wire.Hello{Version: wire.Version, Window: 1 << 20, ID: l.card.ID, To: l.d.card.ID, Card: l.card.Encode()}
	l.say(wire.KindHello, h.Append(nil))
}

func (l *leaver) say(kind wire.Kind, b []byte) {
	ctx, cancel := context.WithTimeout(l.t.Context(), limit)
	defer cancel()
	require.NoError(l.t, l.ctx.SendUnexpected(ctx, l.to, 0, bmi.Tag(kind), b))
}
