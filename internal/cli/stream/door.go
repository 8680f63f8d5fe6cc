package stream

import (
	"context"
	"fmt"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// visitorsMax is how many senders may wait. Further senders get no answer and
// give up after a while.
const visitorsMax = 16

// A visitor is a sender that made an offer.
type visitor struct {
	from  bmi.Addr
	tag   bmi.Tag
	offer offer
	err   error // the error in the offer, if any
}

// classes are the classes of offers: over a method without classes, all messages
// are of class 0.
var classes = []bmi.Class{Class, 0}

// A door takes the offers of senders. The first valid one is accepted; the others are refused with
// a reason, so that they do not wait.
type door struct {
	ep       *bmi.Endpoint
	c        *bmi.Context
	visitors chan visitor

	stop    context.CancelFunc
	refused sync.WaitGroup
}

func openDoor(ep *bmi.Endpoint) (*door, error) {
	c, err := ep.OpenContext()
	if err != nil {
		return nil, err
	}
	d := &door{ep: ep, c: c, visitors: make(chan visitor, visitorsMax), stop: func() {}}
	for _, class := range classes {
		if err := ep.Handle(class, d.knock); err != nil {
			_ = c.Close()
			return nil, err
		}
	}
	return d, nil
}

// knock is the handler of offers and must not wait.
func (d *door) knock(m bmi.Message) {
	v := visitor{from: m.From, tag: m.Tag}
	v.offer, v.err = parseOffer(m.Data)
	select {
	case d.visitors <- v:
	default:
	}
}

// await accepts the first sender with a valid offer; from then on the others are
// refused.
func (d *door) await(ctx context.Context) (visitor, error) {
	for {
		select {
		case <-ctx.Done():
			return visitor{}, ctx.Err()
		case v := <-d.visitors:
			if v.err == nil && v.tag != tagAnswer {
				v.err = fmt.Errorf("%w: an offer with tag %d", ErrFormat, v.tag)
			}
			if v.err != nil {
				d.refuse(ctx, v, v.err.Error())
				continue
			}
			refuseCtx, cancel := context.WithCancel(context.Background())
			d.stop = cancel
			d.refused.Go(func() { d.refuseAll(refuseCtx) })
			return v, nil
		}
	}
}

func (d *door) refuseAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case v := <-d.visitors:
			d.refuse(ctx, v, "busy with another sender")
		}
	}
}

func (d *door) refuse(ctx context.Context, v visitor, why string) {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeMax)
	defer cancel()
	no := reply{kind: kindAnswer, session: v.offer.session, refused: true, text: why}
	_ = d.c.Send(ctx, v.from, v.tag, no.append(nil))
}

func (d *door) close() {
	for _, class := range classes {
		_ = d.ep.Handle(class, nil)
	}
	d.stop()
	d.refused.Wait()
	_ = d.c.Close()
}
