// Package udptest joins the provider of package udp with a simulated network of
// datagrams, for tests of whatever stands on top: the suites of package vipl and of
// the methods, and tests of the provider itself. Time is virtual, one goroutine
// owns everything, and a seed replays a run exactly.
//
// What lives elsewhere: the network and its faults (udp/dgram/sim), the events and
// links below it (internal/sim), and all tests.
package udptest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
	simdgram "github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/secure"
)

// Scheme is the name of the provider.
const Scheme = "udpsim"

const (
	port = 7000
	// lateMax bounds how late a device is polled for its deadline.
	lateMax = 100 * time.Microsecond
	// idleMax bounds a step in which nothing happens: whoever stands on top has
	// deadlines of its own.
	idleMax = 2 * time.Millisecond
	// timeMax is the end of time.
	timeMax = 10 * time.Minute
)

// A World is a provider of devices, each on a host of its own.
type World struct {
	Sim  *sim.World
	Net  *simdgram.Network
	opts udp.Provider
	rng  *rand.Rand // of what the world does; the network has its own
	last netip.Addr // given to a host
	open []opened   // in the order of opening, for an exact replay
}

// An opened device, and where it is.
type opened struct {
	*udp.Device
	host *simdgram.Host
}

var _ nic.Provider = (*World)(nil)

// New makes a world. Of p it replaces what is left to chance, or to the system, and an identity by one
// for each device (Static).
func New(seed uint64, link sim.LinkOptions, net simdgram.Options, p udp.Provider) *World {
	w := &World{
		Sim:  sim.New(sim.Options{Seed: seed, Link: link}),
		rng:  rand.New(rand.NewPCG(seed, 21)),
		last: netip.MustParseAddr("10.0.0.0"),
	}
	w.Net = simdgram.New(w.Sim, net)
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	p.Random = rand.NewChaCha8(key)
	p.CloseDrain = -1
	w.opts = p
	return w
}

// Name implements nic.Provider.
func (w *World) Name() string { return Scheme }

// NewName is the address of a host that is made for it.
func (w *World) NewName() string {
	w.last = w.last.Next()
	w.Net.Host(w.last)
	return netip.AddrPortFrom(w.last, port).String()
}

// host is where a name listens; without a name it is a new one.
func (w *World) host(name string) *simdgram.Host {
	if name == "" {
		name = w.NewName()
	}
	at, err := netip.ParseAddrPort(name)
	if err != nil {
		return w.host("") // the provider says what is wrong
	}
	return w.Net.Host(at.Addr())
}

// Open implements nic.Provider.
func (w *World) Open(cfg nic.Config) (nic.Device, error) {
	host, p := w.host(cfg.Listen), w.opts
	if !p.Identity.Empty() {
		p.Identity = Identity(NameOf(host.Addr(), cfg.Listen != ""))
	}
	d, err := w.openAt(host, p, cfg)
	if err != nil {
		return nil, err // no Device that is nil
	}
	return d, nil
}

// OpenAs opens a device with an identity of its own choice on a host, and with no other key.
func (w *World) OpenAs(host *simdgram.Host, id secure.IdentitySource, cfg nic.Config) (*udp.Device, error) {
	p := w.opts
	p.Key, p.Insecure, p.Identity = secure.Source{}, false, id
	return w.openAt(host, p, cfg)
}

func (w *World) openAt(host *simdgram.Host, p udp.Provider, cfg nic.Config) (*udp.Device, error) {
	p.Datagrams = func() (dgram.Device, error) { return host.Open(), nil }
	d, err := p.Open(cfg)
	if err != nil {
		return nil, err
	}
	device, ok := d.(*udp.Device)
	if !ok {
		return nil, fmt.Errorf("udptest: a device of type %T, which sleeps", d)
	}
	w.open = append(w.open, opened{device, host})
	return device, nil
}

// Devices are those that were opened and did not crash, oldest first.
func (w *World) Devices() (all []*udp.Device) {
	for _, o := range w.open {
		all = append(all, o.Device)
	}
	return all
}

// Crash ends the devices at a name as the death of their process would.
func (w *World) Crash(name string) {
	host := w.host(name)
	host.Crash()
	w.open = slices.DeleteFunc(w.open, func(o opened) bool { return o.host == host })
}

// Clock is virtual time.
func (w *World) Clock() time.Duration { return w.Net.Clock() }

// Step moves time to what happens next, on the network or because a device waits
// for it. It reports false at the end of time: of a run that never gets anywhere.
func (w *World) Step() bool {
	w.Idle(idleMax)
	return w.Clock() < timeMax
}

// Idle is Step, but not for longer than a while (< 0: for ever).
func (w *World) Idle(left time.Duration) {
	if left < 0 || left > idleMax {
		left = idleMax
	}
	now := w.Sim.Now()
	until := now + left
	for _, o := range w.open {
		if at, ok := o.NextDeadline(); ok {
			// Nobody looks at the clock the moment that a deadline passes.
			until = min(until, max(at, now)+1+time.Duration(w.rng.Int64N(int64(lateMax))))
		}
	}
	if next, ok := w.Sim.Next(); ok && next <= until {
		w.Sim.Step()
		return
	}
	w.Sim.AdvanceTo(until)
}

// Partition cuts two hosts from each other now and then, in one direction or both,
// for at most longest.
func (w *World) Partition(every, longest time.Duration) {
	w.Sim.After(w.Sim.Between(0, 2*every), func() {
		a, b := w.anyHost(), w.anyHost()
		if a != nil && a != b {
			w.Net.CutOneWay(a, b)
			if w.rng.IntN(2) == 0 {
				w.Net.CutOneWay(b, a)
			}
			w.Sim.After(w.Sim.Between(0, longest), func() { w.Net.Heal(a, b) })
		}
		w.Partition(every, longest)
	})
}

func (w *World) anyHost() *simdgram.Host {
	if len(w.open) == 0 {
		return nil
	}
	return w.open[w.rng.IntN(len(w.open))].host
}
