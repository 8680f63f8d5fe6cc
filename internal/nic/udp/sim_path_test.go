package udp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestSimPathGetsNarrower: the MTU of the path shrinks, with a notice or without,
// before the connection or while data is on its way, and data still arrives.
func TestSimPathGetsNarrower(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, op := range []nic.Op{nic.OpRDMAWrite, nic.OpRDMARead} {
			for _, early := range []bool{false, true} {
				t.Run(fmt.Sprintf("silent=%v,op=%v,early=%v", silent, op, early), func(t *testing.T) {
					p := newPipe(t, udptest.New(1, lan, simdgram.Options{MTUBytes: 8972}, udp.Provider{Key: udptest.Key}))
					narrow := func() {
						p.w.Net.SetMTU(p.a.host, p.b.host, 1300, silent)
						p.w.Net.SetMTU(p.b.host, p.a.host, 1250, silent)
					}
					if early {
						narrow()
						p.connect()
						p.move(op)
					} else {
						p.connect()
						quick := p.move(op)
						p.w.Sim.After(quick/2, narrow)
						p.move(op)
					}
					took := p.move(op)
					assert.Less(t, took, 500*time.Millisecond, "it knows by now")
				})
			}
		}
	}
}

// TestSimReplay: a seed replays exactly, packet by packet.
func TestSimReplay(t *testing.T) {
	run := func(t *testing.T, seed uint64) string {
		p := newPipe(t, udptest.Random(seed))
		require.NoError(t, p.a.port.Connect(p.b.name, nil, 0))
		p.until("the connection", func() bool { return p.a.up && p.b.up || p.a.over || p.b.over })
		if p.a.up && p.b.up {
			d := p.post(nic.OpRDMAWrite)
			p.until("the data", func() bool { return d.Status != nic.StatusPending })
		}
		text := fmt.Sprintf("%v\n%s%s%+v\n", p.w.Clock(), p.a.log, p.b.log, p.w.Net.Stats())
		for _, d := range p.w.Devices() {
			text += fmt.Sprintf("%+v\n", d.Stats())
		}
		return text
	}
	sim.RunAtMost(t, 20, func(t *testing.T, seed uint64) {
		first := run(t, seed)
		assert.Equal(t, first, run(t, seed))
	})
}
