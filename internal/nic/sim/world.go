package simnic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Mode says what advances virtual time.
type Mode uint8

const (
	// Stepped: only the test advances it, by stepping the sim.World.
	Stepped Mode = iota
	// Polled: a Poll that has nothing to report advances to the next event. For
	// programs that poll and cannot step the world.
	Polled
	// Real: virtual time follows the wall clock whenever a device is polled
	// or sleeps. Devices are Sleepers, and may have different owners.
	Real
)

// Options describe the NICs of a world. The zero value has no faults except those
// of the links and completes everything at once.
type Options struct {
	// Caps of devices opened through the World itself; zero means DefaultCaps.
	Caps nic.Caps
	// Mode says what advances virtual time.
	Mode Mode
	// PostDelayMax bounds the time from a post until the NIC reads the data and
	// sends it.
	PostDelayMax time.Duration
	// SendDelayMax bounds the time from the end of a send or RDMA until its
	// completion is visible.
	SendDelayMax time.Duration
	// RecvDelayMax bounds the time from the arrival of a message until its
	// completion is visible.
	RecvDelayMax time.Duration
	// RDMATimeMax bounds the time between the first and the second half of an RDMA
	// transfer.
	RDMATimeMax time.Duration
	// Direct: devices and ports are nic.DirectDevices and nic.DirectPorts, except in the
	// Real mode. Messages go either way, at random.
	Direct bool
	// DoneNow is the probability that a send is finished within its post on a
	// NIC without CopiesOnPost.
	DoneNow float64
	// Again is the probability that a post is refused with nic.ErrAgain although
	// there is room.
	Again float64
	// FailSend is the probability that a send or RDMA fails with
	// nic.StatusTransportError, which also breaks the connection.
	FailSend float64
	// PeerWrites is the probability, at each call of a device's owner and for each
	// buffer lent to it, that the remote side overwrites the buffer. A consumer
	// that handles every completion before it calls the device again, and reads
	// lent memory only once, does not notice.
	PeerWrites float64
	// ConnectLoss is the probability that a connect request is lost; the NIC
	// repeats it.
	ConnectLoss float64
	// Refuse is the probability that the remote NIC refuses a connect request
	// before its owner sees it.
	Refuse float64
	// RetransmitAfter is the time that every loss on the link costs a reliable
	// message; 0 means 200 µs.
	RetransmitAfter time.Duration
	// BreakAfter is how long a connection lasts without a packet getting through;
	// 0 means 50 ms.
	BreakAfter time.Duration
	// ConnectTimeout applies to a connect without its own timeout; 0 means 5 s.
	ConnectTimeout time.Duration
	// NoticeMax bounds the time that each side needs to notice that a connection
	// broke; 0 means 1 ms.
	NoticeMax time.Duration
}

// RandomOptions draws NICs with every kind of delay and few hard faults, so that a
// program on them can still finish.
func RandomOptions(rng *rand.Rand) Options {
	draw := sim.Draw{Rand: rng}
	return Options{
		Caps:         RandomCaps(rng),
		PostDelayMax: draw.UpTo(100 * time.Microsecond),
		SendDelayMax: draw.UpTo(2 * time.Millisecond),
		RecvDelayMax: draw.UpTo(200 * time.Microsecond),
		RDMATimeMax:  draw.UpTo(200 * time.Microsecond),
		DoneNow:      rng.Float64() * 0.5,
		Again:        rng.Float64() * 0.1,
		ConnectLoss:  rng.Float64() * 0.3,
		Direct:       rng.IntN(4) == 0,
	}
}

// A World is a set of simulated NICs. It is a nic.Provider; Provider returns
// others for NICs with other capabilities in the same world.
type World struct {
	mu       sync.Mutex
	sim      *sim.World
	opts     Options
	start    time.Time // of the wall clock, in the Real mode
	devices  []*Device // live ones, in the order of opening
	names    uint64    // for devices without a name
	requests nic.RequestID
	sleeping []*Device // in the Real mode
}

// New makes an empty world of NICs over w. In the Real mode no other code may step
// w.
func New(w *sim.World, opts Options) *World {
	if opts.Caps == (nic.Caps{}) {
		opts.Caps = DefaultCaps()
	}
	orDefault := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	orDefault(&opts.RetransmitAfter, 200*time.Microsecond)
	orDefault(&opts.BreakAfter, 50*time.Millisecond)
	orDefault(&opts.ConnectTimeout, 5*time.Second)
	orDefault(&opts.NoticeMax, time.Millisecond)
	return &World{sim: w, opts: opts, start: time.Now()}
}

// enter takes the world's lock and, in the Real mode, runs due events.
func (w *World) enter() {
	w.mu.Lock()
	if w.opts.Mode == Real {
		w.sim.AdvanceTo(time.Since(w.start))
	}
}

// leave releases the lock, after waking sleepers that would miss an event.
func (w *World) leave() {
	if len(w.sleeping) > 0 {
		next, ok := w.sim.Next()
		for _, d := range w.sleeping {
			if ok && (d.until < 0 || next < d.until) {
				d.kick()
			}
		}
	}
	w.mu.Unlock()
}

// Clock is virtual time, for use as nic.Config.Clock.
func (w *World) Clock() time.Duration {
	if w.opts.Mode == Real {
		return time.Since(w.start)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sim.Now()
}

// Sim is the world below, which tests step in the Stepped mode.
func (w *World) Sim() *sim.World { return w.sim }

// Idle advances to the next event, or virtual time by timeout if there is none (<
// 0: no limit). Waiting calls need it in the Stepped mode. A wait that nothing can
// end panics, because in a test it would hang.
func (w *World) Idle(timeout time.Duration) {
	w.enter()
	defer w.leave()
	next, ok := w.sim.Next()
	switch {
	case ok && (timeout < 0 || next <= w.sim.Now()+timeout):
		w.sim.Step()
	case timeout >= 0:
		w.sim.AdvanceTo(w.sim.Now() + timeout)
	default:
		panic(fmt.Sprintf("sim: %v: waiting for ever at %v (seed %d)", sim.ErrNotLive, w.sim.Now(), w.sim.Seed()))
	}
}

var errCut = errors.New("sim: nothing came through for too long")

// Cut partitions two devices, by their names. A connection between them breaks if
// that lasts for Options.BreakAfter.
func (w *World) Cut(a, b string) {
	w.enter()
	defer w.leave()
	w.sim.Cut(a, b)
	w.sim.After(w.opts.BreakAfter, func() {
		if w.sim.Link(a, b).Up() {
			return
		}
		for _, c := range w.connections(a, b) {
			c.fail(fmt.Errorf("%w: %w", errCut, nic.ErrTimeout))
		}
	})
}

// Heal undoes a Cut.
func (w *World) Heal(a, b string) {
	w.enter()
	defer w.leave()
	w.sim.Heal(a, b)
}

// Break makes the connections between two devices fail now.
func (w *World) Break(a, b string) {
	w.enter()
	defer w.leave()
	for _, c := range w.connections(a, b) {
		c.fail(fmt.Errorf("sim: the link broke: %w", nic.ErrTimeout))
	}
}

// Crash ends a device as the death of its process would: it falls silent, its name
// becomes free, and the other sides notice. Calls on it return nic.ErrClosed.
func (w *World) Crash(name string) {
	w.enter()
	defer w.leave()
	if d := w.find(name); d != nil {
		d.crash()
	}
}

func (w *World) find(name string) *Device {
	i := slices.IndexFunc(w.devices, func(d *Device) bool { return d.name == name })
	if i < 0 {
		return nil
	}
	return w.devices[i]
}

// connections are the connections between two devices, in a fixed order.
func (w *World) connections(a, b string) (list []*conn) {
	for _, d := range w.devices {
		for _, p := range d.ports {
			c := p.conn
			if c == nil || slices.Contains(list, c) {
				continue
			}
			x, y := c.ends[0].dev.name, c.ends[1].dev.name
			if (x == a && y == b) || (x == b && y == a) {
				list = append(list, c)
			}
		}
	}
	return list
}
