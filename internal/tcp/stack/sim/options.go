package simstack

import (
	"math/rand/v2"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// Options describe the network. The zero value has large segments and buffers, no
// delays except those of the links, and no faults except those that a test
// requests.
type Options struct {
	// SegmentBytesMax is the largest segment. Sizes are drawn from 1 to this,
	// small ones as often as large ones. 1 splits everywhere; 0 means 64 KiB.
	SegmentBytesMax int
	// SendBytesMax is the size of a stream's send buffer: bytes that Send took
	// and the other side's stack does not have yet. 0 means 256 KiB.
	SendBytesMax int
	// RecvBytesMax is the size of its receive buffer: bytes that are under way,
	// or have arrived and were not received. 0 means 256 KiB.
	RecvBytesMax int
	// ShortMoves is the probability that Recv or Send moves fewer bytes than
	// it could.
	ShortMoves float64

	// EventDelayMax bounds the time from when something becomes possible until
	// Poll reports it.
	EventDelayMax time.Duration
	// Spurious is the probability that a Poll returns an event without a reason.
	Spurious float64
	// SetupMax bounds the time that a stream needs after TCP's handshake until
	// bytes can flow (for a certificate, say). It applies to accepted streams
	// too.
	SetupMax time.Duration
	// AcceptDelayMax bounds the time from a finished handshake until the
	// listener has the connection.
	AcceptDelayMax time.Duration
	// Backlog is the number of connections that can wait for Accept; others get
	// no answer meanwhile. 0 means 128.
	Backlog int

	// ConnectLoss is the probability that a connect request is lost; the stack
	// repeats it.
	ConnectLoss float64
	// Refuse is the probability that a listener's machine refuses.
	Refuse float64
	// Exhausted is the probability that Accept finds no room, which then lasts
	// for up to ExhaustedMax.
	Exhausted float64
	// ExhaustedMax bounds that time; 0 means 1 ms.
	ExhaustedMax time.Duration
	// DialExhausted is the probability that Dial finds no room.
	DialExhausted float64
	// LoseOnClose is the probability that Close loses undelivered bytes and
	// resets the stream.
	LoseOnClose float64
	// Reset is the probability, per segment, that the stream is reset instead.
	Reset float64
	// Corrupt is the probability, per segment, that one of its bytes changes.
	Corrupt float64

	// RetransmitAfter is the time that a loss on the link costs; 0 means 200 µs.
	RetransmitAfter time.Duration
	// KeepAlive is the time without an answer after which a stack reports a
	// stream as broken, whether or not it has something to send; 0 means 1 s, < 0
	// never.
	KeepAlive time.Duration
	// ConnectTimeout is the time after which a stack gives up connecting; 0 means
	// 2 minutes, as in Linux.
	ConnectTimeout time.Duration

	// Trace, if set, receives a line for everything that happens.
	Trace func(line string)
}

func (o *Options) setDefaults() {
	number := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	duration := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	number(&o.SegmentBytesMax, 64<<10)
	number(&o.SendBytesMax, 256<<10)
	number(&o.RecvBytesMax, 256<<10)
	number(&o.Backlog, 128)
	duration(&o.ExhaustedMax, time.Millisecond)
	duration(&o.RetransmitAfter, 200*time.Microsecond)
	duration(&o.KeepAlive, time.Second)
	duration(&o.ConnectTimeout, 2*time.Minute)
}

// RandomOptions draws a network with every kind of delay, splitting and
// back-pressure. It has no fault that breaks a stream, so that a program over it
// can succeed; a test may add such faults.
func RandomOptions(rng *rand.Rand) Options {
	draw := sim.Draw{Rand: rng}
	return Options{
		SegmentBytesMax: draw.Pick(1, 3, 23, 25, 100, 1460, 9000, 64<<10),
		SendBytesMax:    draw.Pick(1, 7, 24, 100, 4096, 64<<10, 1<<20),
		RecvBytesMax:    draw.Pick(1, 7, 24, 100, 4096, 64<<10, 1<<20),
		ShortMoves:      draw.Chance(0.5),
		EventDelayMax:   draw.UpTo(100 * time.Microsecond),
		Spurious:        draw.Chance(0.2),
		SetupMax:        draw.UpTo(time.Millisecond),
		AcceptDelayMax:  draw.UpTo(time.Millisecond),
		Backlog:         draw.Pick(1, 3, 128),
		ConnectLoss:     draw.Chance(0.3),
		Exhausted:       draw.Chance(0.3),
		LoseOnClose:     draw.Chance(0.5),
	}
}
