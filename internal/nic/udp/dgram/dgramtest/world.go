package dgramtest

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// world is the subject of one test with the devices and sockets it opened.
type world struct {
	t       T
	s       *Subject
	devices []*device
	socks   []*sock
	rng     *rand.Rand
	serial  uint64        // of payloads
	due     map[entry]int // the ledger: what must still arrive, and how often
}

// entry is one line of the ledger.
type entry struct {
	to      *sock
	from    netip.AddrPort
	payload string
}

// device is one device and its owner.
type device struct {
	w *world
	dgram.Device
	addr netip.Addr
}

func newWorld(t T, s *Subject) *world {
	require.NotNil(t, s.Open, "dgramtest: Subject.Open is required")
	require.NotNil(t, s.Addr, "dgramtest: Subject.Addr is required")
	w := &world{t: t, s: s, rng: rand.New(rand.NewPCG(1, 1)), due: map[entry]int{}}
	t.Cleanup(func() {
		for _, d := range w.devices {
			assert.NoError(t, d.Close())
		}
	})
	return w
}

// device opens another device.
func (w *world) device() *device {
	d := &device{w: w, Device: w.s.Open()}
	require.NotNil(w.t, d.Device)
	w.devices = append(w.devices, d)
	d.addr = w.s.Addr(d.Device)
	require.False(w.t, d.addr.IsUnspecified())
	return d
}

// pair is two sockets of two devices.
func (w *world) pair() (a, b *sock) { return w.device().socket(), w.device().socket() }

// until advances the world until done, and fails the test if that takes too long.
func (w *world) until(what string, done func() bool) {
	deadline, steps := time.Now().Add(w.s.timeout()), 0
	for !done() {
		if w.poll() {
			continue
		}
		if w.s.Step != nil {
			w.s.Step()
			steps++
			if steps > w.s.steps() {
				require.Failf(w.t, "too many steps", "until: %s (%d are due)", what, len(w.due))
			}
		} else {
			w.nap()
		}
		if time.Now().After(deadline) {
			require.Failf(w.t, "took too long", "until: %s (%d are due)", what, len(w.due))
		}
	}
}

// arrived waits until all that is due has arrived.
func (w *world) arrived() {
	w.t.Helper()
	w.until("everything has arrived", func() bool { return len(w.due) == 0 })
}

// poll receives at every socket and reports whether there was something.
func (w *world) poll() bool {
	some := false
	for _, s := range w.socks {
		some = s.drain() > 0 || some
	}
	return some
}

// nap lets real time pass while nothing happens. It sleeps on the first device,
// if that supports it, and never for long, because the event may come to another
// device.
func (w *world) nap() {
	const nap = 200 * time.Microsecond
	s, ok := w.devices[0].Device.(dgram.Sleeper)
	if !ok {
		<-time.After(nap)
		return
	}
	if s.Arm() {
		s.Sleep(nap)
	}
	s.Disarm()
}

// settle waits for everything under way, for tests of what must not happen.
func (w *world) settle() {
	for until := time.Now().Add(20 * time.Millisecond); ; {
		more := w.poll()
		switch {
		case w.s.Step != nil:
			if more = w.s.Step() || more; !more {
				return
			}
		case time.Now().After(until):
			return
		default:
			w.nap()
		}
	}
}

// payload makes n bytes that no other payload of the test has, if n ≥ 8.
func (w *world) payload(n int) []byte {
	w.serial++
	return pattern(make([]byte, n), w.serial)
}

// pattern fills p with bytes that depend on salt and on their position.
func pattern(p []byte, salt uint64) []byte {
	x := salt
	for i := range p {
		if i < 8 {
			p[i] = byte(salt >> (8 * i))
			continue
		}
		x = x*6364136223846793005 + 1442695040888963407
		p[i] = byte(x >> 56)
	}
	return p
}

// payloads makes several of one size.
func (w *world) payloads(count, n int) (list [][]byte) {
	for range count {
		list = append(list, w.payload(n))
	}
	return list
}
