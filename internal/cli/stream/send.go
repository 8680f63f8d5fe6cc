package stream

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"go.uber.org/atomic"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf/service"
)

const (
	// DefaultBlock and DefaultBlocks are 4 blocks of 1 MiB under way: while
	// one is read and one is written, two can move.
	DefaultBlock  = 1 << 20
	DefaultBlocks = 4
	// retryEvery is the pause between two searches for a receiver.
	retryEvery = 50 * time.Millisecond
	// answerTimeMax is how long a receiver that was found may take to answer.
	answerTimeMax = 10 * time.Second
)

// SendOptions are the options of Send.
type SendOptions struct {
	// Address is the receiver's address.
	Address string
	// Wait is how long to search for the receiver.
	Wait time.Duration
	// Total is the number of bytes if it is known, otherwise -1. The receiver
	// uses it only to show progress.
	Total int64
	// Block is the payload of a block in bytes, Blocks how many are under way;
	// 0 means the defaults.
	Block, Blocks int
	// Started, if set, is called when a receiver was found.
	Started func()
	// Progress, if set, is called with the number of bytes sent so far, by
	// several goroutines.
	Progress func(bytes int64)
}

// ErrNobody: no receiver was found in time.
var ErrNobody = errors.New("nobody receives there")

// Send sends all of in to the receiver at the address. After an error the receiver fails as well.
// If ctx ends, the receiver is notified. After an error a goroutine may still be in a Read of in
// that does not return; the endpoint must then only be closed.
func Send(ctx context.Context, ep *bmi.Endpoint, opt SendOptions, in io.Reader) (Summary, error) {
	s, err := openSender(ep, opt, in)
	if err != nil {
		return Summary{}, err
	}
	sum, err := s.transfer(ctx)
	s.w.close(s.fed)
	sum.Peer = opt.Address
	return sum, err
}

// A sender is the sending side of one transfer.
type sender struct {
	w     *window
	opt   SendOptions
	class bmi.Class // of the offer
	in    io.Reader
	fed   chan struct{} // closed when feed has returned
	free  chan *block

	// Used by feed until it has returned.
	sequence uint64
	total    int64
	sum      hash.Hash
	feedErr  error // why the input ended early

	// taken counts the bytes of the blocks that the method has finished with.
	taken atomic.Int64

	// Used by the caller.
	verdict []byte
	reply   *reply
}

// verdictMark distinguishes the receive for the verdict from the blocks.
type verdictMark struct{ _ byte }

func openSender(ep *bmi.Endpoint, opt SendOptions, in io.Reader) (*sender, error) {
	if opt.Block == 0 {
		opt.Block = DefaultBlock
	}
	if opt.Blocks == 0 {
		opt.Blocks = DefaultBlocks
	}
	peer, err := ep.Lookup(opt.Address)
	if err != nil {
		return nil, err
	}
	most, err := ep.MaxExpectedSize(peer)
	if err != nil {
		return nil, err
	}
	opt.Block = min(opt.Block, most-headerBytes)
	if opt.Block < blockBytesMin || opt.Block > BlockBytesMax || opt.Blocks < 1 || opt.Blocks > BlocksMax {
		return nil, fmt.Errorf("stream: %d blocks of %d bytes: choose 1 to %d blocks of %d to %d bytes", opt.Blocks, opt.Block, BlocksMax, blockBytesMin, BlockBytesMax)
	}
	var session [8]byte
	_, _ = rand.Read(session[:]) // it never fails
	w, err := openWindow(ep, peer, binary.LittleEndian.Uint64(session[:]))
	if err != nil {
		return nil, err
	}
	return &sender{
		w:       w,
		opt:     opt,
		class:   service.Class(ep, opt.Address, Class),
		in:      in,
		fed:     make(chan struct{}),
		free:    make(chan *block, opt.Blocks),
		sum:     sha256.New(),
		verdict: make([]byte, replyBytes+textBytesMax),
	}, nil
}

// transfer runs a whole transfer. It starts feed, or closes fed.
func (s *sender) transfer(ctx context.Context) (Summary, error) {
	err := s.agree(ctx)
	if err == nil {
		if err = s.prepare(); err != nil {
			s.abort(err)
			s.goodbye()
		}
	}
	if err != nil {
		close(s.fed)
		return Summary{}, err
	}
	if s.opt.Started != nil {
		s.opt.Started()
	}
	go s.feed()
	err = s.settle(ctx)
	s.goodbye()
	if err != nil {
		return Summary{Bytes: s.taken.Load()}, err
	}
	sum := Summary{Bytes: s.total}
	s.sum.Sum(sum.SHA256[:0])
	return sum, nil
}

// agree offers the stream until a receiver answers.
func (s *sender) agree(ctx context.Context) error {
	request := offer{session: s.w.session, total: s.opt.Total, block: s.opt.Block, blocks: s.opt.Blocks}.append(nil)
	answer := make([]byte, replyBytes+textBytesMax)
	deadline := time.Now().Add(s.opt.Wait)
	for {
		n, err := s.call(ctx, request, answer)
		if err == nil {
			r, err := parseReply(answer[:n], kindAnswer, s.w.session)
			if err == nil && r.refused {
				err = fmt.Errorf("%w: %q", ErrOtherSide, r.text)
			}
			return err
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("%w: somebody listens at %s but does not answer; is it an idle `bmi recv`?", ErrNobody, s.opt.Address)
		case !errors.Is(err, bmi.ErrUnreachable) && !errors.Is(err, bmi.ErrPeerFailed):
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("%w: looked for %v; start `bmi recv %s`, or look longer with --timeout: %w", ErrNobody, s.opt.Wait, s.opt.Address, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryEvery):
		}
	}
}

func (s *sender) call(ctx context.Context, request, answer []byte) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeMax)
	defer cancel()
	return s.w.talk.Call(ctx, s.w.peer, s.class, tagAnswer, request, answer)
}

// prepare makes the blocks, and posts the receive for the verdict, which may come
// at any time.
func (s *sender) prepare() error {
	p, err := s.w.post("wait for the verdict", func() (bmi.Posted, error) {
		return s.w.c.PostRecv(s.w.peer, tagVerdict, s.verdict, &verdictMark{})
	})
	if err == nil && p.Done {
		err = s.judge(p.Size)
	}
	if err == nil {
		err = s.w.alloc(s.opt.Blocks, s.opt.Block)
	}
	for _, b := range s.w.blocks {
		s.free <- b
	}
	return err
}

// judge reads the verdict.
func (s *sender) judge(size int) error {
	r, err := parseReply(s.verdict[:size], kindVerdict, s.w.session)
	if err != nil {
		return err
	}
	s.reply = &r
	if r.refused {
		return fmt.Errorf("%w after %d bytes: %q", ErrOtherSide, r.bytes, r.text)
	}
	return nil
}

// settle waits until the verdict is there, or something failed.
func (s *sender) settle(ctx context.Context) error {
	fed := s.fed
	for s.reply == nil || fed != nil {
		select {
		case <-ctx.Done():
			s.interrupt(ctx.Err())
			return ctx.Err()
		case <-fed:
			fed = nil
			if errors.Is(s.feedErr, errInput) {
				s.abort(s.feedErr)
				return s.feedErr
			}
			if s.feedErr != nil {
				return s.gone(s.feedErr)
			}
		case done, open := <-s.w.completions:
			if !open {
				return s.w.testErr
			}
			if err := s.see(done); err != nil {
				return err
			}
		}
	}
	if s.reply.bytes != s.total {
		return fmt.Errorf("%w: a verdict on %d bytes of %d", ErrFormat, s.reply.bytes, s.total)
	}
	return nil
}

// see handles one completion.
func (s *sender) see(done bmi.Completion) error {
	if done.Err != nil {
		return s.gone(done.Err)
	}
	b, ok := done.User.(*block)
	if !ok {
		return s.judge(done.Size)
	}
	if b.buf[0] == kindData {
		s.took(b)
	}
	return nil
}

func (s *sender) gone(err error) error {
	return gone("receiver", s.taken.Load(), err)
}

// took returns a block that the method has finished with to feed. Both the caller
// and feed call it.
func (s *sender) took(b *block) {
	taken := s.taken.Add(int64(b.size - headerBytes))
	if s.opt.Progress != nil {
		s.opt.Progress(taken)
	}
	s.free <- b
}

// goodbye releases the receiver, which stays until it knows that its verdict
// arrived. An error changes nothing.
func (s *sender) goodbye() {
	if s.reply != nil {
		_ = s.w.say(context.Background(), tagGoodbye, nil)
	}
}

// interrupt tells the receiver why nothing more comes, but only if feed is not in
// the middle of a post, and will not post again.
func (s *sender) interrupt(cause error) {
	s.w.mu.Lock()
	s.w.stopped = true
	s.w.mu.Unlock()
	s.abort(fmt.Errorf("the sender was interrupted: %w", cause))
}

// abort sends the block that ends a transfer early, on a best-effort basis. It
// stays until the receiver has confirmed it, because the blocks before it must
// not be cancelled.
func (s *sender) abort(cause error) {
	text := shorten(cause)
	b := append(make([]byte, headerBytes), text...)
	header{kind: kindAbort, length: len(text), sequence: s.sequence, session: s.w.session}.put(b)
	if s.w.say(context.Background(), tagBlock, b) != nil {
		return
	}
	enough := time.After(leaveTimeMax)
	for s.reply == nil {
		select {
		case <-enough:
			return
		case done, open := <-s.w.completions:
			if !open || done.Err != nil {
				return
			}
			_ = s.see(done) // it will be a negative verdict
		}
	}
}
