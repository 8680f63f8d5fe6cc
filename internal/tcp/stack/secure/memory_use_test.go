//go:build linux

package secure_test

import (
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/kernel"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// idleBytesMax is the limit of memory for both ends of an idle connection
// together, in bytes of heap. docs/reference/security-tcps.md has the figure.
const idleBytesMax = 24 << 10

func TestMemoryOfIdleConnections(t *testing.T) {
	count := 200
	if testing.Short() {
		count = 50
	}
	s := over(t, kernel.Options{}, config(t))
	defer func() { require.NoError(t, s.Close()) }()
	l, err := s.Listen(netip.MustParseAddrPort("127.0.0.1:0"), 0)
	require.NoError(t, err)
	events := make([]stack.Event, 64)
	var all []stack.Stream
	before := heap()
	for i := range stack.Token(count) {
		a, err := s.Dial(l.Addr(), 1+2*i)
		require.NoError(t, err)
		var b stack.Stream
		limit := time.Now().Add(wallclock.Patience)
		for b == nil || a.Connected() != nil || b.Connected() != nil {
			require.True(t, time.Now().Before(limit))
			s.Poll(events)
			if b != nil {
				continue
			}
			if b, err = l.Accept(2 + 2*i); err != nil {
				require.True(t, errors.Is(err, stack.ErrAgain), "%v", err)
				b = nil
			}
		}
		all = append(all, a, b)
	}
	each := (heap() - before) / count
	t.Logf("both ends of an idle connection: %d bytes", each)
	assert.Less(t, each, idleBytesMax)
	runtime.KeepAlive(all)
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
