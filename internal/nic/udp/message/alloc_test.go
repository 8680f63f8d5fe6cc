package message

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A pingPong sends one message and performs all steps of its transfer.
type pingPong struct {
	from, to   *Queue
	head, flat []byte
	pieces     [][]byte
}

func (x *pingPong) move(lane int, loan Loan) {
	for s, ok := x.from.Next(lane, 1400); ok; s, ok = x.from.Next(lane, 1400) {
		var head wire.Segment
		x.head, x.pieces = x.from.Append(x.head[:0], x.pieces[:0], &s)
		x.flat = append(x.flat[:0], x.head...)
		for _, b := range x.pieces {
			x.flat = append(x.flat, b...)
		}
		data, _, err := wire.ParseSegment(x.flat, &head)
		if err != nil {
			panic(err)
		}
		if taken, err := x.to.Arrived(&head, data, loan); !taken {
			panic(err)
		}
		x.from.Acked(&s)
	}
}

func (x *pingPong) message(d, r *nic.Descriptor, lane int, loan Loan) {
	if err := x.to.PostRecv(r); err != nil {
		panic(err)
	}
	if _, err := x.from.PostSend(d); err != nil {
		panic(err)
	}
	x.move(lane, loan)
	for x.from.Completed() != nil {
	}
	if got := x.to.Completed(); got != r || r.Status != nic.StatusSuccess {
		panic("it did not arrive")
	}
}

// freeLoan is a buffer without a count.
type freeLoan struct{}

func (freeLoan) Hold() {}
func (freeLoan) Free() {}

// TestNoAllocations: no message allocates once the first ones have made room.
func TestNoAllocations(t *testing.T) {
	p := plainPair(t, nic.ReliableDelivery)
	x := &pingPong{from: p.sides[0].q, to: p.sides[1].q}
	for name, c := range map[string]struct {
		d, r *nic.Descriptor
		lane int
		loan Loan
	}{
		"inline":     {send(make([]byte, 8)), lentRecv(), LanePriority, nil},
		"lent":       {send(make([]byte, 90)), lentRecv(), LanePriority, freeLoan{}},
		"copied":     {send(make([]byte, 500)), recv(make([]byte, 500)), LaneData, nil},
		"not copied": {send(make([]byte, 700)), recv(make([]byte, 700)), LaneData, nil},
		"large":      {send(make([]byte, 3000)), recv(make([]byte, 3000)), LaneData, nil},
	} {
		for range 100 {
			x.message(c.d, c.r, c.lane, c.loan)
		}
		require.Zero(t, testing.AllocsPerRun(1000, func() { x.message(c.d, c.r, c.lane, c.loan) }), name)
	}
}

func BenchmarkMessage(b *testing.B) {
	p := plainPair(b, nic.ReliableDelivery)
	x := &pingPong{from: p.sides[0].q, to: p.sides[1].q}
	d, r := send(make([]byte, 8)), lentRecv()
	b.ReportAllocs()
	for b.Loop() {
		x.message(d, r, LanePriority, nil)
	}
}
