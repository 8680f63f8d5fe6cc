package simdgram

import (
	"math/rand/v2"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
)

// Mode says what moves virtual time on.
type Mode uint8

const (
	// Stepped: only the test does, by stepping the sim.World.
	Stepped Mode = iota
	// Real: virtual time follows the wall clock whenever a device is used or
	// sleeps. Devices are dgram.Sleepers, and may have different owners.
	Real
)

// Options describe the network. The zero value has no faults beside those of the
// links, no limit of speed, and buffers as in Linux.
type Options struct {
	// Mode says what moves virtual time on.
	Mode Mode

	// MTUBytes is the largest payload that a host's own link, and at first
	// every path, lets through; 0 means 1472, as Ethernet with IPv4.
	MTUBytes int
	// MTUChangeEvery is the average time between changes of a path's MTU, which
	// is then drawn from dgram.PayloadMin to MTUBytes; 0 means that it changes
	// only through SetMTU. Without traffic a path does not change.
	MTUChangeEvery time.Duration
	// Silent is the probability that such a change is silent: no host hears why
	// its packets vanish.
	Silent float64

	// Up and Down are the speed of every host's card, in each direction. What
	// waits to leave stays in the sockets' send buffers until then.
	Up, Down sim.Rate
	// HeaderBytes is what every datagram has to carry beside its payload, at
	// every bottleneck; 0 means 28, IPv4 and UDP.
	HeaderBytes int

	// SendBytesMax is the size of a socket's send buffer; 0 means 208 KiB.
	SendBytesMax int
	// RecvBytesMax is the size of its receive buffer; 0 means 208 KiB.
	RecvBytesMax int
	// PerPacketBytes is what a datagram takes in either beside its payload; 0
	// means 512.
	PerPacketBytes int

	// Full is the probability, per packet, that Send answers ErrAgain although
	// there is room, and goes on to do so for up to FullMax.
	Full float64
	// FullMax bounds that time; 0 means 100 µs.
	FullMax time.Duration
	// HoldMax bounds the time for which a card holds the first arrival back, so
	// that later ones come with it (interrupt coalescing).
	HoldMax time.Duration
	// Merge is the probability, per datagram, that Recv hands it out together
	// with the one before, if they fit together (GRO).
	Merge float64
	// Short is the probability that Recv returns before it filled its batch or
	// emptied the buffer.
	Short float64
	// Scribble is the probability that Recv leaves rubbish wherever it is
	// allowed to: behind what arrived, and in entries that it did not fill.
	Scribble float64

	// Trace, if there is one, gets a line for all that happens.
	Trace func(line string)
}

func (o *Options) setDefaults() {
	number := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	number(&o.MTUBytes, 1472)
	o.MTUBytes = clampMTU(o.MTUBytes)
	number(&o.HeaderBytes, 28)
	number(&o.SendBytesMax, 208<<10)
	number(&o.RecvBytesMax, 208<<10)
	number(&o.PerPacketBytes, 512)
	if o.FullMax == 0 {
		o.FullMax = 100 * time.Microsecond
	}
}

func clampMTU(bytes int) int { return min(max(bytes, dgram.PayloadMin), dgram.PayloadMax) }

// RandomOptions draws a network with every kind of delay, merging, back-pressure,
// overflow and change of MTU, but one through which enough comes that a protocol
// with retransmission gets on. Links have faults of their own (sim.RandomLink).
func RandomOptions(rng *rand.Rand) Options {
	draw := sim.Draw{Rand: rng}
	o := Options{
		MTUBytes:     draw.Pick(1200, 1452, 1472, 8972, dgram.PayloadMax),
		Silent:       draw.Chance(1),
		Up:           sim.Rate{BytesPerSecond: draw.Pick(0, 0, 10e6, 125e6, 1250e6)},
		SendBytesMax: draw.Pick(4<<10, 64<<10, 208<<10, 1<<20),
		Full:         draw.Chance(0.05),
		FullMax:      draw.UpTo(time.Millisecond),
		HoldMax:      draw.UpTo(100 * time.Microsecond),
		Merge:        draw.Chance(0.9),
		Short:        draw.Chance(0.3),
		Scribble:     draw.Chance(0.3),
	}
	// What has no room for a few packets lets nothing through.
	few := 4 * (o.MTUBytes + 1024)
	o.RecvBytesMax = max(few, draw.Pick(8<<10, 32<<10, 208<<10, 1<<20))
	if rng.IntN(2) == 0 {
		o.MTUChangeEvery = 5*time.Millisecond + draw.UpTo(100*time.Millisecond)
	}
	if rng.IntN(3) == 0 {
		o.Down = sim.Rate{BytesPerSecond: draw.Pick(10e6, 125e6), QueueBytes: max(few, draw.Pick(16<<10, 64<<10, 256<<10))}
	}
	return o
}
