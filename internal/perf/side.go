package perf

import (
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
)

const (
	// placesPipelinedMax is the largest size, in bytes, for which a latency test
	// uses two buffers in turn, so that the next receive is posted while a
	// message is under way. For larger messages posting costs nothing compared to
	// the copy, and a second buffer would only use more cache.
	placesPipelinedMax = 4 << 10
	// windowBytesMax bounds the bytes of a window of a bandwidth test, so that it
	// measures the transport and not memory outside the caches.
	windowBytesMax = 4 << 20
	// placeAlign keeps buffers on separate cache lines, in bytes.
	placeAlign = 64
)

// WindowFor is the window that a test really uses for a size, if the requested
// window is given.
func WindowFor(test Test, size, window int) int {
	switch test {
	case Rate:
		return window
	case Bandwidth, Bidirectional:
		return min(window, max(2, windowBytesMax/max(size, 1)))
	}
	return 1
}

// A side is the resources of one end of a run: buffers, a context and a lane.
type side struct {
	ep    *bmi.Endpoint
	peer  bmi.Addr
	plain []byte // kept from run to run
}

// open makes the lane of a run and posts its first receives. client is the end
// that starts. closeLane must be called afterwards, even if the run failed.
func (s *side) open(r request, client bool) (l *lane, closeLane func() error, err error) {
	l = &lane{peer: s.peer, tag: r.tag, recvSize: r.size, sendMark: &sendMark{}, recvMark: &recvMark{}}
	places, posted := r.window, r.window
	l.recvTotal = r.steps * r.window
	outSize := r.size
	switch {
	case r.test == Latency:
		places, posted = 1, 1
		if r.size <= placesPipelinedMax {
			places = 2
			if !client {
				posted = 2
			}
		}
	case r.test == Bidirectional:
	case client: // pours, and receives one empty message per window
		places, posted, l.recvSize, l.recvTotal = 1, 1, 0, r.steps
	default: // drinks
		outSize = 0
	}

	mem, release, err := s.memory(r.registered, places*alignUp(l.recvSize)+alignUp(outSize))
	if err != nil {
		return nil, nil, err
	}
	l.out, mem = mem[:outSize:outSize], mem[alignUp(outSize):]
	for range places {
		l.recvs = append(l.recvs, bmi.Post{Tag: l.tag, Buf: mem[:l.recvSize:l.recvSize], User: l.recvMark})
		mem = mem[alignUp(l.recvSize):]
	}
	l.sends = slices.Repeat([]bmi.Post{{Tag: l.tag, Buf: l.out, User: l.sendMark}}, r.window)
	if l.c, err = s.ep.OpenContext(); err != nil {
		_ = release()
		return nil, nil, fmt.Errorf("perf: open a context: %w", err)
	}
	closeLane = func() error {
		// Close first: it ends the pending operations of a failed run.
		err := l.c.Close()
		if e := release(); err == nil {
			err = e
		}
		return err
	}
	for range posted {
		if err := l.postRecv(); err != nil {
			_ = closeLane()
			return nil, nil, err
		}
	}
	return l, closeLane, nil
}

func alignUp(n int) int { return (n + placeAlign - 1) &^ (placeAlign - 1) }

// memory returns total bytes, all of them written once: untouched pages all share
// one page of zeros and would be read too fast.
func (s *side) memory(registered bool, total int) (mem []byte, release func() error, err error) {
	release = func() error { return nil }
	switch {
	case registered && total > 0:
		if mem, err = s.ep.Alloc(s.peer, total); err != nil {
			return nil, nil, fmt.Errorf("perf: allocate %s of the method's memory: %w", FormatSize(total), err)
		}
		lent := mem
		release = func() error { return s.ep.Free(s.peer, lent) }
	case total <= len(s.plain):
		return s.plain[:total], release, nil
	default:
		s.plain = make([]byte, total)
		mem = s.plain
	}
	for i := range mem {
		mem[i] = byte(i)
	}
	return mem, release, nil
}

// run executes n steps of this end's half.
func (l *lane) run(test Test, client bool, n, window int) error {
	switch {
	case test == Latency && client:
		return l.pingPong(n)
	case test == Latency:
		return l.pongPing(n)
	case test == Bidirectional:
		return l.exchange(n, window)
	case client:
		return l.pour(n, window)
	}
	return l.drink(n, window)
}
