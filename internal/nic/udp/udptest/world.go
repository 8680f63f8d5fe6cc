// Package udptest joins the provider of package udp with a simulated network of datagrams, for tests
// of the layers above (the suites of package vipl and of the methods) and of the provider itself. Time
// is virtual, one goroutine owns everything, and a seed replays a run exactly.
//
// The network and its faults are in udp/dgram/sim, the events and links below it in internal/sim.
package udptest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Scheme is the name of the provider.
const Scheme = "udpsim"

const (
	port = 7000
	// lateMax bounds how late a device is polled after its deadline.
	lateMax = 100 * time.Microsecond
	// idleMax bounds a step in which nothing happens, because the layer above has its own deadlines.
	idleMax = 2 * time.Millisecond
	// timeMax is the end of virtual time.
	timeMax = 10 * time.Minute
)

// A World is a provider of devices, each on its own host.
type World struct {
	Sim  *sim.World
	Net  *simdgram.Network
	opts udp.Provider
	rng  *rand.Rand // for the world's decisions; the network has its own
	last netip.Addr // given to a host
	open []opened   // in the order of opening, for an exact replay
}

// An opened device and its host.
type opened struct {
	*udp.Device
	host *simdgram.Host
}

var _ nic.Provider = (*World)(nil)

// New makes a world. In p it replaces the random source and the system functions, and Static by an
// identity for each device.
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

// NewName makes a host and returns its address.
func (w *World) NewName() string {
	w.last = w.last.Next()
	w.Net.Host(w.last)
	return netip.AddrPortFrom(w.last, port).String()
}

// host is the host of a name; without a name it is a new one.
func (w *World) host(name string) *simdgram.Host {
	if name == "" {
		name = w.NewName()
	}
	at, err := netip.ParseAddrPort(name)
	if err != nil {
		return w.host("") // the provider reports what is wrong
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
		return nil, err // not a nil *Device in an interface
	}
	return d, nil
}

// OpenAs opens a device on a host with the given identity and no other key.
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

// Devices are the open devices that did not crash, oldest first.
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

// Step advances time to the next event of the network or deadline of a device. It reports false at the
// end of time, for a run that never finishes.
func (w *World) Step() bool {
	w.Idle(idleMax)
	return w.Clock() < timeMax
}

// Idle is Step, but for at most left (< 0: no limit).
func (w *World) Idle(left time.Duration) {
	if left < 0 || left > idleMax {
		left = idleMax
	}
	now := w.Sim.Now()
	until := now + left
	for _, o := range w.open {
		if at, ok := o.NextDeadline(); ok {
			// A poll never comes exactly at a deadline.
			until = min(until, max(at, now)+1+time.Duration(w.rng.Int64N(int64(lateMax))))
		}
	}
	if next, ok := w.Sim.Next(); ok && next <= until {
		w.Sim.Step()
		return
	}
	w.Sim.AdvanceTo(until)
}

// Partition cuts two hosts from each other now and then, in one direction or both, for at most
// longest.
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
