package simdgram

import (
	"math/rand/v2"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// Mode says what advances virtual time.
type Mode uint8

const (
	// Stepped: only the test advances it, by stepping the sim.World.
	Stepped Mode = iota
	// Real: virtual time follows the wall clock whenever a device is used or
	// sleeps. Devices are dgram.Sleepers, and may have different owners.
	Real
)

// Options describe the network. The zero value has no faults except those of the
// links, no limit of speed, and buffers as in Linux.
type Options struct {
	// Mode says what advances virtual time.
	Mode Mode

	// MTUBytes is the largest payload for a host's own link, and initially for
	// every path; 0 means 1472, as Ethernet with IPv4.
	MTUBytes int
	// MTUChangeEvery is the average time between changes of a path's MTU, which
	// is then drawn from dgram.PayloadMin to MTUBytes. 0 means that only SetMTU
	// changes it. Without traffic a path does not change.
	MTUChangeEvery time.Duration
	// Silent is the probability that such a change is silent: no host learns why its packets
	// vanish.
	Silent float64

	// Up and Down are the speed of every host's card, in each direction. Packets
	// that wait for the card stay in the sockets' send buffers.
	Up, Down sim.Rate
	// HeaderBytes is the overhead of a datagram at every bottleneck; 0 means 28,
	// IPv4 and UDP.
	HeaderBytes int

	// SendBytesMax is the size of a socket's send buffer; 0 means 208 KiB.
	SendBytesMax int
	// RecvBytesMax is the size of its receive buffer; 0 means 208 KiB.
	RecvBytesMax int
	// PerPacketBytes is the overhead of a datagram in either buffer; 0 means 512.
	PerPacketBytes int

	// Full is the probability, per packet, that Send returns ErrAgain although
	// there is room, and keeps doing so for up to FullMax.
	Full float64
	// FullMax bounds that time; 0 means 100 µs.
	FullMax time.Duration
	// HoldMax bounds the time for which a card holds back the first arrival, so
	// that later ones come with it (interrupt coalescing).
	HoldMax time.Duration
	// Merge is the probability, per datagram, that Recv returns it together with
	// the previous one, if they fit together (GRO).
	Merge float64
	// Short is the probability that Recv returns before it has filled its batch
	// or emptied the buffer.
	Short float64
	// Scribble is the probability that Recv writes garbage wherever it may:
	// behind the arrived bytes, and in unused entries.
	Scribble float64

	// Trace, if set, receives a line for everything that happens.
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
// overflow and change of MTU, but enough gets through for a protocol with
// retransmission to make progress. Links have their own faults (sim.RandomLink).
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
	// A buffer without room for a few packets would let nothing through.
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
