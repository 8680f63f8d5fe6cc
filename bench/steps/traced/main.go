//go:build linux && amd64

// Command traced is the program that bench/steps executes: two endpoints, and two ranks of MPI, in
// one thread. It writes the name of each phase before it begins, and stops at a breakpoint before
// and after it.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/internal/nic/shm"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

const (
	messages = 32 // of a phase; fewer than all credits
	size     = 8  // of a message, in bytes
	rounds   = 1000
)

func main() {
	runtime.LockOSThread()
	check(endpoints())
	check(ranks())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "traced:", err)
		os.Exit(1)
	}
}

// A stepper marks phases. It is off while everything warms up.
type stepper struct {
	on    bool
	alone bool // other threads stand still since the last phase
}

// phase runs fn, as a phase if s is on and it has a name. joined: no other thread must run before the next phase.
func (s *stepper) phase(name string, joined bool, fn func() error) error {
	if !s.on || name == "" {
		return fn()
	}
	fmt.Printf("%d %t %q\n", messages, joined, name)
	if !s.alone {
		runtime.Gosched() // the time slice begins anew: the scheduler leaves this goroutine alone until all others stand still
	}
	runtime.Breakpoint()
	err := fn()
	runtime.Breakpoint()
	s.alone = joined
	return err
}

// warm calls round many times, and then once with phases.
func warm(round func(s *stepper) error) error {
	s := new(stepper)
	for range rounds {
		if err := round(s); err != nil {
			return err
		}
	}
	s.on = true
	return round(s)
}

// A side is one of two endpoints that poll only when they are told to.
type side struct {
	ep    *bmi.Endpoint
	ctx   *bmi.Context
	other bmi.Addr
	out   [messages]bmi.Completion
	posts [messages]bmi.Post
}

func open(name string) (s *side, err error) {
	s = new(side)
	if s.ep, err = bmi.Open(context.Background(), bmi.Config{Listen: []string{name}, Manual: true}); err != nil {
		return nil, err
	}
	s.ctx, err = s.ep.OpenContext()
	return s, err
}

// take polls once, and returns how many operations have completed.
func (s *side) take() (int, error) { return s.ctx.TestContext(s.out[:], 0) }

// endpoints sends windows of expected messages from one endpoint to another.
func endpoints() error {
	names := [2]string{fmt.Sprintf("via+shm://steps-%d-a", os.Getpid()), fmt.Sprintf("via+shm://steps-%d-b", os.Getpid())}
	from, err := open(names[0])
	if err != nil {
		return err
	}
	defer from.ep.Close()
	to, err := open(names[1])
	if err != nil {
		return err
	}
	defer to.ep.Close()
	if from.other, err = from.ep.Lookup(names[1]); err != nil {
		return err
	}
	if to.other, err = to.ep.Lookup(names[0]); err != nil {
		return err
	}
	for _, w := range ways {
		if err := warm(func(s *stepper) error { return window(s, w, from, to) }); err != nil {
			return err
		}
	}
	return nil
}

// A way is one to post a window of receives or of sends.
type way struct {
	recv, send, test string // the names of the phases; "": none
	recvs            func(to *side, in []byte) error
	sends            func(from *side, buf []byte) (pending int, err error)
}

// ways are one by one, and all at once.
var ways = []way{
	{"bmi: PostRecv", "bmi: PostSend", "bmi: TestContext",
		func(to *side, in []byte) error {
			for range messages {
				if _, err := to.ctx.PostRecv(to.other, 1, in, nil); err != nil {
					return err
				}
			}
			return nil
		},
		func(from *side, buf []byte) (pending int, err error) {
			for range messages {
				p, err := from.ctx.PostSend(from.other, 1, buf, nil)
				if err != nil {
					return 0, err
				}
				if !p.Done {
					pending++
				}
			}
			return pending, nil
		}},
	{"bmi: PostRecvs", "bmi: PostSends", "",
		func(to *side, in []byte) error {
			_, err := to.ctx.PostRecvs(to.other, to.burst(in))
			return err
		},
		func(from *side, buf []byte) (pending int, err error) {
			_, err = from.ctx.PostSends(from.other, from.burst(buf))
			for i := range from.posts {
				if !from.posts[i].Posted.Done {
					pending++
				}
			}
			return pending, err
		}},
}

// burst describes a window of messages with one buffer.
func (s *side) burst(buf []byte) []bmi.Post {
	for i := range s.posts {
		s.posts[i] = bmi.Post{Tag: 1, Buf: buf}
	}
	return s.posts[:]
}

func window(s *stepper, w way, from, to *side) error {
	var buf, in [size]byte
	err := s.phase(w.recv, false, func() error { return w.recvs(to, in[:]) })
	if err != nil {
		return err
	}
	pending := 0
	err = s.phase(w.send, false, func() (err error) { pending, err = w.sends(from, buf[:]); return err })
	if err != nil {
		return err
	}
	got := 0
	err = s.phase(w.test, false, func() error {
		n, err := to.take()
		got = n
		return err
	})
	// The first messages wait for the connection. Credits come back meanwhile.
	for err == nil && (got < messages || pending > 0) {
		var n, m int
		if n, err = to.take(); err == nil {
			m, err = from.take()
		}
		got, pending = got+n, pending-m
	}
	for range 4 {
		if err == nil {
			_, err = from.take()
		}
	}
	return err
}

// ranks does the same with two ranks of MPI in this process.
func ranks() error {
	boots, err := boot.Local(2)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var processes [2]*mpi.Process
	errs := make([]error, 2)
	for rank := range boots {
		all.Go(func() {
			p, err := mpi.Init(context.Background(), mpi.Options{Boot: boots[rank], Method: "via+shm"})
			if err == nil {
				err = p.World().Barrier(forever)
			}
			processes[rank], errs[rank] = p, err
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	from, to := processes[0].World(), processes[1].World()
	if err := warm(func(s *stepper) error { return requests(s, from, to) }); err != nil {
		return err
	}
	for _, p := range processes {
		all.Go(func() { _ = p.Finalize(context.Background()) })
	}
	all.Wait()
	return nil
}

// forever is the context of all calls.
var forever = context.Background()

func requests(s *stepper, from, to *mpi.Comm) error {
	var buf, in [size]byte
	recvs, sends := make([]mpi.Request, messages), make([]mpi.Request, messages)
	err := s.phase("mpi: Irecv", false, func() error {
		for i := range recvs {
			recvs[i] = to.Irecv(mpi.Slice(in[:]), 0, 1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	awake(s, from, to)
	err = s.phase("mpi: Isend", true, func() error {
		for i := range sends {
			sends[i] = from.Isend(mpi.Slice(buf[:]), 1, 1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = s.phase("mpi: WaitAll of receives", false, func() error { return mpi.WaitAll(forever, recvs...) })
	if err != nil {
		return err
	}
	if err := mpi.WaitAll(forever, sends...); err != nil {
		return err
	}
	if err := to.Send(forever, mpi.Slice(buf[:0]), 0, 2); err != nil {
		return err
	}
	_, err = from.Recv(forever, mpi.Slice(buf[:0]), 1, 2)
	return err
}

// awake keeps both ranks polling for a while, so that nothing sleeps on their methods in the next phase.
func awake(s *stepper, from, to *mpi.Comm) {
	for until := time.Now().Add(20 * time.Millisecond); s.on && time.Now().Before(until); {
		_, _, _ = from.Iprobe(1, 9)
		_, _, _ = to.Iprobe(0, 9)
	}
}
