package shm

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func TestNoAllocationPerMessage(t *testing.T) {
	_, pa, pb := pair(t, reliable())
	for _, n := range []int{8, 4000} {
		msg := send(make([]byte, n))
		var out [4]nic.Event
		for range 2 * ringSlots { // first use of each buffer
			require.NoError(t, pb.PostRecv(recvLoan()))
			_, _ = pa.PostSend(msg)
			for pb.dev.Poll(out[:]) == 0 {
			}
			require.NoError(t, pb.PostRecv(out[0].Desc))
			_, _ = pa.PostSend(msg)
			for pb.dev.Poll(out[:]) == 0 {
			}
			if d := out[0].Desc; n > InlineBytesMax {
				pb.conn.returnLoan(d)
			}
		}
		d := recvLoan()
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			_ = pb.PostRecv(d)
			_, _ = pa.PostSend(msg)
			for pb.dev.Poll(out[:]) == 0 {
			}
		}))
		require.NoError(t, pb.PostRecv(d))
		_, _ = pa.PostSend(msg)
		for pb.dev.Poll(out[:]) == 0 {
		}
		if n > InlineBytesMax {
			pb.conn.returnLoan(d)
		}
	}
	mem := make([]byte, 4096)
	h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	w := rdmaDesc(nic.OpRDMAWrite, remoteOf(mem, 0, h), make([]byte, 4096))
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = pa.PostSend(w) }))
	require.Equal(t, nic.StatusSuccess, w.Status)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if pa.dev.Arm() {
			pa.dev.Sleep(0)
		}
		pa.dev.Disarm()
		pa.dev.Poll(nil)
	}))
}

// residentShared is how much shared memory this process has resident.
func residentShared(t testing.TB) (kib int) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	ours := false
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if strings.Contains(fields[0], "-") {
			ours = strings.Contains(line, "viaduct-")
		}
		if ours && fields[0] == "Rss:" {
			n := 0
			for _, c := range fields[1] {
				n = 10*n + int(c-'0')
			}
			kib += n
		}
	}
	return kib
}

// TestIdleMemory uses every buffer in both directions, lets the connections
// become idle, and checks how much stays resident.
func TestIdleMemory(t *testing.T) {
	dir := t.TempDir()
	now := time.Duration(0)
	clock := func() time.Duration { return now }
	open := func(name string) *Device {
		d := openDevice(t, dir, name)
		d.clock = clock
		return d
	}
	a, b := open(""), open("b")
	f := newFixture(t, a, b)
	const conns = 8
	var ports [][2]*Port
	before := residentShared(t)
	for range conns {
		pa, pb := openPort(t, a, reliable()), openPort(t, b, reliable())
		f.connect(pa, pb)
		ports = append(ports, [2]*Port{pa, pb})
	}
	fresh := residentShared(t) - before
	require.LessOrEqual(t, fresh/(2*conns), 32, "KiB per connected idle peer, before traffic")
	exchange := func(seed byte) {
		for _, p := range ports {
			for i := range 2 {
				from, to := p[i], p[1-i]
				for k := range ringSlots {
					d := recvInto(make([]byte, MTUBytes))
					require.NoError(t, to.PostRecv(d))
					mustSend(t, from, pattern(MTUBytes, seed+byte(k)))
					require.Same(t, d, f.next(to.dev, nic.EventRecv).Desc)
					require.Equal(t, pattern(MTUBytes, seed+byte(k)), d.Segments[0].Data)
				}
			}
		}
		for _, p := range ports {
			for range ringSlots {
				_ = p[0].PostRecv(recvLoan())
				_ = p[1].PostRecv(recvLoan())
			}
		}
	}
	exchange(1)
	require.Greater(t, residentShared(t)-before, 1000*conns, "the buffers were not used, the test proves nothing")
	for rest := 0; ; rest++ {
		at, ok := a.NextDeadline()
		if later, more := b.NextDeadline(); more {
			at, ok = later, true
		}
		if !ok {
			break
		}
		require.Less(t, rest, 8, "timers run for nothing")
		now = at
		f.none(a, nic.EventDisconnected)
	}
	require.LessOrEqual(t, now, 4*trimEvery)
	idle := residentShared(t) - before
	require.LessOrEqual(t, idle/(2*conns), 32, "KiB per connected idle peer, after traffic")
	t.Logf("%d KiB per peer fresh, %d KiB after traffic and rest", fresh/(2*conns), idle/(2*conns))
	// And the buffers work again.
	for i, p := range ports {
		mustSend(t, p[0], pattern(5000, byte(i)))
		require.Equal(t, pattern(5000, byte(i)), f.next(b, nic.EventRecv).Desc.Data)
	}
}

func TestAllocator(t *testing.T) {
	d := openDevice(t, t.TempDir(), "")
	rng := newRand(t)
	var live [][]byte
	for i := range 300 {
		size := 1 + rng.IntN(1<<rng.IntN(23))
		mem, err := d.Alloc(size, rng.IntN(2) == 0)
		require.NoError(t, err)
		require.Len(t, mem, size)
		require.Zero(t, remoteOf(mem, 0, 0).Addr%pageBytes, "not page-aligned")
		for k := range mem {
			mem[k] = byte(i)
		}
		live = append(live, mem)
		if rng.IntN(3) > 0 {
			j := rng.IntN(len(live))
			require.Equal(t, len(live[j]), bytes.Count(live[j], live[j][:1]), "pieces overlap")
			require.NoError(t, d.Free(live[j]))
			require.Error(t, d.Free(live[j]), "freed twice")
			live[j] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	for _, size := range []int{0, -1, allocMax + 1} {
		_, err := d.Alloc(size, false)
		require.Error(t, err)
	}
	require.Error(t, d.Free(make([]byte, 1)))
	require.Error(t, d.Free(nil))
}
