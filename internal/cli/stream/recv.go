package stream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"go.uber.org/atomic"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// RecvOptions are the options of Receive.
type RecvOptions struct {
	// Started, if set, is called when a sender was found; total is its number of
	// bytes, -1 if the sender does not know it.
	Started func(peer string, total int64)
	// Progress, if set, is called with the number of bytes written so far.
	Progress func(bytes int64)
}

// A Listener takes the offers of senders at an endpoint.
type Listener struct{ d *door }

// Listen takes offers at an endpoint, which must listen. The caller must call Receive.
func Listen(ep *bmi.Endpoint) (*Listener, error) {
	d, err := openDoor(ep)
	if err != nil {
		return nil, err
	}
	return &Listener{d}, nil
}

// Receive waits for a sender, writes its stream to out and closes the listener. It
// succeeds only if the whole stream was written and matches the sender's checksum;
// after an error the sender fails as well. If ctx ends, the sender is notified. Further
// senders are refused. After an error a goroutine may still be in a Write to out that
// does not return; the endpoint must then only be closed.
func (l *Listener) Receive(ctx context.Context, opt RecvOptions, out io.Writer) (Summary, error) {
	d := l.d
	defer d.close()
	v, err := d.await(ctx)
	if err != nil {
		return Summary{}, err
	}
	if opt.Started != nil {
		opt.Started(v.from.String(), v.offer.total)
	}
	w, err := openWindow(d.ep, v.from, v.offer.session)
	if err != nil {
		return Summary{}, err
	}
	r := &receiver{
		w:       w,
		opt:     opt,
		offer:   v.offer,
		out:     out,
		sum:     sha256.New(),
		early:   make(chan *block, v.offer.blocks),
		due:     make(chan *block, v.offer.blocks),
		arrived: make(map[uint64]*block, v.offer.blocks),
		written: make(chan struct{}),
	}
	sum, err := r.transfer(ctx)
	r.w.close(r.written)
	sum.Peer = v.from.String()
	return sum, err
}

// A receiver is the receiving side of one transfer.
type receiver struct {
	w     *window
	opt   RecvOptions
	offer offer
	out   io.Writer

	// early holds blocks whose receive completed within the post.
	early chan *block
	// due holds blocks in order for drain.
	due     chan *block
	written chan struct{} // closed when drain has returned
	bytes   atomic.Int64  // written

	// Used by the caller. Receives may complete in any order; the order of the
	// stream is the order of their posts.
	arrived map[uint64]*block
	next    uint64 // the next block to hand over
	end     *endOfStream

	// Used by drain until it has returned.
	posted   uint64
	sum      hash.Hash
	drainErr error
}

type endOfStream struct {
	total uint64
	sum   [sha256.Size]byte
}

// transfer runs a whole transfer. It starts drain, or closes written.
func (r *receiver) transfer(ctx context.Context) (Summary, error) {
	if err := r.accept(ctx); err != nil {
		close(r.written)
		return Summary{}, err
	}
	go r.drain()
	err := r.settle(ctx)
	verdict := reply{kind: kindVerdict, session: r.w.session, bytes: r.bytes.Load()}
	sum := Summary{Bytes: verdict.bytes}
	if err != nil {
		verdict.refused, verdict.text = true, shorten(err)
	} else {
		sum.SHA256 = r.end.sum
	}
	if !errors.Is(err, bmi.ErrPeerFailed) {
		r.leave(verdict)
	}
	return sum, err
}

// accept posts the first receives and answers the offer.
func (r *receiver) accept(ctx context.Context) error {
	err := r.w.alloc(r.offer.blocks, r.offer.block)
	for _, b := range r.w.blocks {
		if err == nil {
			err = r.post(b)
		}
	}
	answer := reply{kind: kindAnswer, session: r.w.session}
	if err != nil {
		answer.refused, answer.text = true, shorten(err)
	}
	if e := r.w.say(ctx, tagAnswer, answer.append(nil)); err == nil && e != nil {
		err = fmt.Errorf("the sender went away before it had the answer: %w", e)
	}
	return err
}

// post posts the receive of a block.
func (r *receiver) post(b *block) error {
	b.slot = r.posted
	p, err := r.w.post("receive a block", func() (bmi.Posted, error) {
		return r.w.c.PostRecv(r.w.peer, tagBlock, b.buf, b)
	})
	if err != nil {
		return err
	}
	r.posted++
	if p.Done {
		b.size = p.Size
		r.early <- b
	}
	return nil
}

// settle waits until the stream has ended and everything is written.
func (r *receiver) settle(ctx context.Context) error {
	for {
		var err error
		select {
		case <-ctx.Done():
			return fmt.Errorf("the receiver was interrupted: %w", ctx.Err())
		case <-r.written:
			return r.compare()
		case b := <-r.early:
			err = r.take(b)
		case done, open := <-r.w.completions:
			if !open {
				return r.w.testErr
			}
			err = r.see(done)
		}
		if err != nil {
			return err
		}
	}
}

// compare reports whether the written bytes are the sent ones.
func (r *receiver) compare() error {
	switch {
	case r.drainErr != nil:
		return r.drainErr
	case uint64(r.bytes.Load()) != r.end.total:
		return fmt.Errorf("%w: %d bytes arrived, %d were sent", ErrChecksum, r.bytes.Load(), r.end.total)
	case [sha256.Size]byte(r.sum.Sum(nil)) != r.end.sum:
		return ErrChecksum
	}
	return nil
}

// see handles one completion.
func (r *receiver) see(done bmi.Completion) error {
	b, ok := done.User.(*block)
	if !ok || r.end != nil {
		return nil // receives that the stream did not need, after its end
	}
	if done.Err != nil {
		return gone("sender", r.bytes.Load(), done.Err)
	}
	b.size = done.Size
	return r.take(b)
}

// take hands over the blocks that are now in order.
func (r *receiver) take(b *block) error {
	r.arrived[b.slot] = b
	for b = r.arrived[r.next]; b != nil && r.end == nil; b = r.arrived[r.next] {
		delete(r.arrived, r.next)
		if err := r.handOver(b); err != nil {
			return err
		}
		r.next++
	}
	return nil
}

func (r *receiver) handOver(b *block) error {
	h, payload, err := parseBlock(b.buf[:b.size], r.offer.block, r.w.session, r.next)
	if err != nil {
		return err
	}
	switch h.kind {
	case kindAbort:
		return fmt.Errorf("%w: %q", ErrOtherSide, payload)
	case kindEnd:
		r.end = &endOfStream{}
		r.end.total, r.end.sum = parseEnd(payload)
		close(r.due)
	default:
		r.due <- b // it has room for all blocks
	}
	return nil
}

// leave sends the verdict, and stays until the sender has it: leaving at once could
// break the connection before the verdict was read. The sender may already have
// ended.
func (r *receiver) leave(verdict reply) {
	if r.w.say(context.Background(), tagVerdict, verdict.append(nil)) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeMax)
	defer cancel()
	if verdict.refused {
		discarding, stop := context.WithCancel(ctx)
		var ended sync.WaitGroup
		ended.Go(func() { r.discard(discarding) })
		defer ended.Wait()
		defer stop()
	}
	_, _ = r.w.talk.Recv(ctx, r.w.peer, tagGoodbye, nil)
}

// discard takes the blocks that the sender posted before it got the verdict, until
// ctx ends. A method that stops reading at a message without a receive would not
// deliver the goodbye behind them.
func (r *receiver) discard(ctx context.Context) {
	junk := &block{buf: make([]byte, headerBytes+r.offer.block)}
	for ctx.Err() == nil {
		var p bmi.Posted
		err := r.w.touch(func() (err error) {
			p, err = r.w.c.PostRecv(r.w.peer, tagBlock, junk.buf, junk)
			return err
		})
		if err != nil {
			return
		}
		for there := p.Done; !there; {
			select {
			case <-ctx.Done():
				return
			case done, open := <-r.w.completions:
				if !open || done.Err != nil {
					return
				}
				there = done.User == any(junk)
			}
		}
	}
}
