package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// The cost of a plugin is measured with both endpoints in one program, which drives them
// in turn on one core; the plugin of one of them is on the other core. With more polling
// processes than cores, the measurement would show the system's scheduler. A message
// crosses the border of the plugin once in each direction: two endpoints with a plugin
// each pay twice what that adds to a half round trip.
const roleInTurn = "in-turn"

// Contenders in turn.
const (
	inTurn      = "in turn"
	inTurnRings = "in turn, plugin by rings"
	inTurnGRPC  = "in turn, plugin by gRPC"
	// withRegistered is appended for memory allocated by the method.
	withRegistered = ", registered"
)

// overPlugins are the contenders in turn, which are compared only with each other.
var overPlugins = []string{
	inTurn, inTurn + withRegistered, inTurnRings, inTurnRings + withRegistered, inTurnGRPC, inTurnGRPC + withRegistered,
}

// inTurnScheme is the scheme of our method in a plugin.
const inTurnScheme = "plugin+shm"

// inTurnSizes are the measured sizes, in bytes.
var inTurnSizes = []int{8, 1 << 10, 64 << 10, 1 << 20}

// inTurnContenders are the contenders of the table about plugins.
func inTurnContenders(cfg config) []contender {
	var all []contender
	for _, name := range []string{inTurn, inTurnRings, inTurnGRPC} {
		for _, memory := range []string{"", withRegistered} {
			all = append(all, contender{name: name + memory, run: func(ctx context.Context) ([]perf.Result, error) {
				out, err := command(ctx, nil, perf.SelfCommand()[0], roleInTurn, name, strconv.FormatBool(memory != ""),
					cfg.plugin, cfg.cores.String(), cfg.point.String())
				if err != nil {
					return nil, err
				}
				return parseResults(out)
			}})
		}
	}
	return all
}

// measureInTurn runs the program: args are the contender, whether memory is registered,
// the plugin, the cores and the time per point.
func measureInTurn(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("want a contender, true or false, a plugin, cores and a time, not %q", args)
	}
	registered, err1 := strconv.ParseBool(args[1])
	cores, err2 := perf.ParsePin(args[3])
	point, err3 := time.ParseDuration(args[4])
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if args[0] != inTurnGRPC {
		undo, err := perf.PinThread(cores.Near)
		if err != nil {
			return err
		}
		defer undo()
	}
	if args[0] != inTurn {
		unload, err := loadFor(args[0], args[2], cores)
		if err != nil {
			return err
		}
		defer unload()
	}
	scheme := ours
	if args[0] != inTurn {
		scheme = inTurnScheme
	}
	b, err := openBoth(scheme, registered)
	if err != nil {
		return err
	}
	if args[0] == inTurnGRPC {
		b.idle = runtime.Gosched
	}
	return errors.Join(b.measure(point), b.a.ep.Close(), b.b.ep.Close())
}

// loadFor loads the plugin of a contender. With rings it polls on the far core; with gRPC
// it may use both cores, because it does not poll.
func loadFor(method, path string, cores perf.Cores) (unload func(), err error) {
	p, err := plugins.Load(context.Background(), path, plugins.Options{
		Names: map[string]string{ours: inTurnScheme, methodUDP: "plugin+udp"}, NoRings: method == inTurnGRPC,
	})
	if err != nil {
		return nil, err
	}
	if method == inTurnRings {
		err = pinProcess(p.PID(), cores.Far)
	}
	unload = func() { _ = p.Unload(context.Background()) } // the results are already printed
	if err != nil {
		unload()
	}
	return unload, err
}

// pinProcess binds all threads of a process to a core, and so all threads that they start.
func pinProcess(pid, core int) error {
	var set unix.CPUSet
	set.Set(core)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("no threads of process %d: %w", pid, err)
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(filepath.Base(t))
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return fmt.Errorf("bind thread %d to core %d: %w", tid, core, err)
		}
	}
	return nil
}

// An end is one of the two endpoints.
type end struct {
	ep   *bmi.Endpoint
	c    *bmi.Context
	peer bmi.Addr
	in   []byte
	out  []byte
	// The memory of in and out, if it must be freed.
	registered []byte
	// Pending operations.
	sends, recvs int
	done         [4]bmi.Completion
}

// both are the two endpoints, driven in turn.
type both struct {
	a, b       end
	registered bool
	idle       func() // lets others run, after a poll without result
}

// openBoth opens the endpoints. The first is reached through a method with the given
// scheme, the second is not.
func openBoth(scheme string, registered bool) (*both, error) {
	w := &both{registered: registered, idle: func() {}}
	name := fmt.Sprintf("://bench-in-turn-%d-", os.Getpid())
	for address, e := range map[string]*end{scheme + name + "0": &w.a, ours + name + "1": &w.b} {
		var err error
		if e.ep, err = bmi.Open(context.Background(), bmi.Config{Listen: []string{address}, Manual: true}); err != nil {
			return nil, err
		}
		if e.c, err = e.ep.OpenContext(); err != nil {
			return nil, err
		}
	}
	var err1, err2 error
	w.a.peer, err1 = w.a.ep.Lookup(scheme + name + "1")
	w.b.peer, err2 = w.b.ep.Lookup(ours + name + "0")
	return w, errors.Join(err1, err2)
}

// measure measures and prints all sizes.
func (w *both) measure(point time.Duration) error {
	for _, size := range inTurnSizes {
		if err := w.measureSize(size, point); err != nil {
			return err
		}
	}
	return nil
}

func (w *both) measureSize(size int, point time.Duration) error {
	for _, e := range []*end{&w.a, &w.b} {
		if err := e.memory(size, w.registered); err != nil {
			return err
		}
		if err := e.recv(); err != nil {
			return err
		}
	}
	r, err := perf.MeasureRoundTrips(ours, size, point, func(n int) error {
		for range n {
			if err := w.pass(&w.a, &w.b); err != nil {
				return err
			}
			if err := w.pass(&w.b, &w.a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The receives that are still pending get their messages, too.
	if err := errors.Join(w.send(&w.a, &w.b), w.send(&w.b, &w.a)); err != nil {
		return err
	}
	if err := errors.Join(w.a.free(), w.b.free()); err != nil {
		return err
	}
	return r.WriteJSON(os.Stdout)
}

// memory allocates an end's buffers, each page of them written once, until free.
func (e *end) memory(size int, registered bool) (err error) {
	mem := make([]byte, 2*size)
	if registered {
		if mem, err = e.ep.Alloc(e.peer, 2*size); err != nil {
			return err
		}
		e.registered = mem
	}
	for i := range mem {
		mem[i] = byte(i)
	}
	e.in, e.out = mem[:size:size], mem[size:]
	return nil
}

// free gives registered memory back, once no operation uses it.
func (e *end) free() error {
	mem := e.registered
	if mem == nil {
		return nil
	}
	e.registered, e.in, e.out = nil, nil, nil
	return e.ep.Free(e.peer, mem)
}

// pass sends one message and posts the receive of the next.
func (w *both) pass(from, to *end) error {
	if err := w.send(from, to); err != nil {
		return err
	}
	return to.recv()
}

// send sends one message, for which a receive is posted, and waits until it has arrived.
func (w *both) send(from, to *end) error {
	if err := from.send(); err != nil {
		return err
	}
	for from.sends > 0 || to.recvs > 0 {
		if err := from.poll(); err != nil {
			return err
		}
		if err := to.poll(); err != nil {
			return err
		}
		w.idle()
	}
	return nil
}

var (
	sent     = new(int)
	received = new(int)
)

func (e *end) send() error {
	p, err := e.c.PostSend(e.peer, 1, e.out, sent)
	if err == nil && !p.Done {
		e.sends++
	}
	return err
}

func (e *end) recv() error {
	p, err := e.c.PostRecv(e.peer, 1, e.in, received)
	if err == nil && !p.Done {
		e.recvs++
	}
	return err
}

// poll drives an end.
func (e *end) poll() error {
	n, err := e.c.TestContext(e.done[:], 0)
	if err != nil {
		return err
	}
	for _, c := range e.done[:n] {
		if c.Err != nil {
			return c.Err
		}
		if c.User == sent {
			e.sends--
		} else {
			e.recvs--
		}
	}
	return nil
}
