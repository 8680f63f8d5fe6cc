//go:build linux

package stacktest

import (
	"errors"
	"net/netip"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/kernel"
)

// flawed is the kernel's stack with a flaw.
type flawed struct {
	*kernel.Stack
	event     func(ev *stack.Event, nth int) // nth event of its token
	recv      func(s stack.Stream, bufs [][]byte) (int, error)
	send      func(s stack.Stream, bufs [][]byte) (int, error)
	file      func(off int64) int64 // where a file is read instead
	unread    error                 // instead of stack.ErrFile
	mark      func(s stack.Patient, n int)
	wake      func(s *kernel.Stack)
	sleep     func(timeout time.Duration)
	arm       *bool
	delivered *bool
	levels    bool // the last event comes again and again
	lifo      bool
	vague     bool // errors without their cause
	garbage   bool

	seen map[stack.Token]int
	last stack.Event
	sink []byte
}

func openFlawed(t T, edit func(*flawed)) *flawed {
	s, err := kernel.Open(kernel.Options{})
	require.NoError(t, err)
	f := &flawed{Stack: s, seen: map[stack.Token]int{}}
	edit(f)
	return f
}

func (f *flawed) Poll(events []stack.Event) int {
	n := f.Stack.Poll(events)
	for i := range events[:n] {
		f.last = events[i]
		f.seen[f.last.Token]++
		if f.event != nil {
			f.event(&events[i], f.seen[f.last.Token])
		}
	}
	if f.levels && n == 0 && len(events) > 0 && f.last.Ready != 0 {
		events[0], n = f.last, 1
	}
	return n
}

func (f *flawed) Listen(at netip.AddrPort, t stack.Token) (stack.Listener, error) {
	l, err := f.Stack.Listen(at, t)
	if err != nil {
		return nil, f.worded(err)
	}
	return &flawedListener{l, f}, nil
}

func (f *flawed) Dial(to netip.AddrPort, t stack.Token) (stack.Stream, error) {
	s, err := f.Stack.Dial(to, t)
	if err != nil {
		return nil, f.worded(err)
	}
	return &flawedStream{s, f}, nil
}

// worded is an error without what it wraps.
func (f *flawed) worded(err error) error {
	if f.vague && err != nil && !errors.Is(err, stack.ErrAgain) {
		return errors.New(err.Error())
	}
	return err
}

func (f *flawed) Arm() bool {
	ok := f.Stack.Arm()
	if f.arm != nil {
		return *f.arm
	}
	return ok
}

func (f *flawed) Sleep(timeout time.Duration) {
	if f.sleep != nil {
		f.sleep(timeout)
		return
	}
	f.Stack.Sleep(timeout)
}

func (f *flawed) Wake() {
	if f.wake != nil {
		f.wake(f.Stack)
		return
	}
	f.Stack.Wake()
}

type flawedListener struct {
	stack.Listener
	f *flawed
}

func (l *flawedListener) Accept(t stack.Token) (stack.Stream, error) {
	s, err := l.Listener.Accept(t)
	for l.f.lifo && err == nil {
		later, none := l.Listener.Accept(t)
		if none != nil {
			break
		}
		s = later
	}
	if err != nil {
		return nil, err
	}
	return &flawedStream{s, l.f}, nil
}

type flawedStream struct {
	stack.Stream
	f *flawed
}

func (s *flawedStream) Connected() error { return s.f.worded(s.Stream.Connected()) }

func (s *flawedStream) Recv(bufs [][]byte) (int, error) {
	if s.f.garbage {
		s.f.sink = make([]byte, 64)
	}
	if s.f.recv != nil {
		return s.f.recv(s.Stream, bufs)
	}
	return s.Stream.Recv(bufs)
}

func (s *flawedStream) Send(bufs [][]byte) (int, error) {
	if s.f.send != nil {
		return s.f.send(s.Stream, bufs)
	}
	return s.Stream.Send(bufs)
}

func (s *flawedStream) LowWater(n int) {
	p := s.Stream.(stack.Patient)
	if s.f.mark != nil {
		s.f.mark(p, n)
		return
	}
	p.LowWater(n)
}

func (f *flawed) SendFile(to stack.Stream, head [][]byte, part stack.FileRange) (int, error) {
	if f.file != nil {
		part.Off = f.file(part.Off)
	}
	n, err := f.Stack.SendFile(to.(*flawedStream).Stream, head, part)
	if f.unread != nil && errors.Is(err, stack.ErrFile) {
		err = f.unread
	}
	return n, err
}

func (s *flawedStream) Delivered() bool {
	if s.f.delivered != nil {
		return *s.f.delivered
	}
	return s.Stream.Delivered()
}
