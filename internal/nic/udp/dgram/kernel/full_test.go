//go:build linux

package kernel

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// ip runs ip(8) in the network namespace of this thread.
func ip(t *testing.T, arguments string) bool {
	out, err := exec.Command(need.Program(t, "ip"), strings.Fields(arguments)...).CombinedOutput()
	return assert.NoError(t, err, "ip %s: %s", arguments, out)
}

// Packets wait in the socket while the hardware address of their destination is
// unknown. Send returns ErrAgain, and Sleep ends when they have been sent.
func TestFull(t *testing.T) {
	for name, o := range map[string]Options{
		"groups": {SendBuffer: 4096}, "alone": {SendBuffer: 4096, NoGSO: true},
	} {
		t.Run(name, func(t *testing.T) {
			inNetwork(t, 65536, func() {
				if ip(t, "link add here type veth peer name there") && ip(t, "addr add 10.0.0.1/24 dev here") &&
					ip(t, "link set here up") && ip(t, "link set there up") {
					full(t, o)
				}
			})
		})
	}
}

func full(t *testing.T, o Options) {
	s := bound(t, open(t, o), netip.MustParseAddrPort("10.0.0.1:0"))
	const count = 200
	batch := run(netip.MustParseAddrPort("10.0.0.2:9"), count, 1400)
	n, err := s.Send(batch)
	assert.ErrorIs(t, err, dgram.ErrAgain)
	assert.Less(t, n, count)
	st := s.Stats()
	assert.EqualValues(t, n, st.Sent+st.Unsent)
	assert.EqualValues(t, 1, st.Full)
	m, err := s.Send(batch[n : n+1])
	assert.ErrorIs(t, err, dgram.ErrAgain)
	assert.Zero(t, m)
	m, isFull := s.separate(batch[n:n+3], unix.EIO)
	assert.True(t, isFull)
	assert.Zero(t, m)
	assert.Equal(t, !o.NoGSO, s.canGroup, "nothing was found out")
	if !assert.True(t, s.d.Arm(), "nothing to do") {
		return
	}
	before := time.Now()
	s.d.Sleep(20 * time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(before), 20*time.Millisecond)
	if !ip(t, "neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev here nud permanent") {
		return
	}
	s.d.Sleep(-1)
	s.d.Disarm()
	assert.False(t, s.d.Arm(), "there is room")
	s.d.Disarm()
	for n < count {
		m, err := s.Send(batch[n:])
		n += m
		if err != nil && s.d.Arm() {
			s.d.Sleep(-1)
		}
		s.d.Disarm()
	}
	assert.EqualValues(t, count, s.Stats().Sent+s.Stats().Unsent)
	assert.True(t, s.d.Arm(), "room is of no interest now")
	s.d.Disarm()
}
