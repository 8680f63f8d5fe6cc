package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/perf/service"
)

// The idle measurement: a hub, and peers that have connected to it, exchanged one
// message and do nothing any more. The peers are endpoints of a few processes, so
// that a machine of any size can hold them.
const (
	roleHub   = "idle-hub"
	rolePeers = "idle-peers"

	idleProcesses = 4
	idleEach      = 50 // endpoints per process
	// idleEachTCP is larger by as much as a connection should cost less, so that
	// pages which a process allocates and frees do not matter.
	idleEachTCP = 250
	// idleEachUDP is what these processes have memory for: each endpoint has its
	// own NIC, with its buffers.
	idleEachUDP = 50
	// strangersMax is how many peers the hub looks up without connecting; over
	// sockets, only connections are measured.
	strangersMax = 20_000

	idleClass bmi.Class = 9
)

// idleCost is the cost for the hub, in bytes.
type idleCost struct {
	connected, known   float64
	peers, strangers   int
	wholeMachine       float64 // per connection, both ends, shared memory counted once
	segments, residing float64 // per connection: shared memory that the hub maps, and its resident part
}

// measureIdle starts the hub and its peers; each process has the given number of
// endpoints of a method.
func measureIdle(method string, each int) (idleCost, error) {
	var cost idleCost
	hub, err := perf.StartChild("hub", perf.SelfCommand(roleHub, service.LocalAddress(method, "bench-hub")))
	if err != nil {
		return cost, err
	}
	defer func() { _ = hub.Close() }()
	address, err := hub.Answer()
	if err != nil {
		return cost, err
	}
	children := []*perf.Child{hub}
	for range idleProcesses {
		child, err := perf.StartChild("process of idle peers", perf.SelfCommand(rolePeers, address, fmt.Sprint(each)))
		if err != nil {
			return cost, err
		}
		defer func() { _ = child.Close() }()
		if _, err := child.Answer(); err != nil {
			return cost, err
		}
		children = append(children, child)
	}
	before, err := weigh(hub, children)
	if err != nil {
		return cost, err
	}
	for _, child := range children[1:] {
		if _, err := child.Ask("connect"); err != nil {
			return cost, err
		}
	}
	if _, err := hub.Ask("await %d", idleProcesses*each); err != nil {
		return cost, err
	}
	after, err := weigh(hub, children)
	if err != nil {
		return cost, err
	}
	cost.peers = idleProcesses * each
	n := float64(cost.peers)
	cost.connected = (after.hub - before.hub) / n
	cost.wholeMachine = (after.machine - before.machine) / n
	cost.segments = (after.mapped - before.mapped) / n
	cost.residing = (after.shared - before.shared) / n

	if service.OverSockets(method) {
		return cost, nil
	}
	answer, err := hub.Ask("know %d", strangersMax)
	if err != nil {
		return cost, err
	}
	cost.strangers = strangersMax
	cost.known, err = strconv.ParseFloat(answer, 64)
	return cost, err
}

// weights are sums of bytes at one moment.
type weights struct {
	hub     float64 // resident in the hub, shared memory included
	machine float64 // proportional share of all processes
	mapped  float64 // shared memory in the hub's address space
	shared  float64 // shared memory resident in the hub
}

func weigh(hub *perf.Child, all []*perf.Child) (weights, error) {
	var w weights
	for _, child := range all {
		if _, err := child.Ask("collect"); err != nil { // garbage must not count
			return w, err
		}
	}
	for _, child := range all {
		rollup, err := smaps(child.PID())
		if err != nil {
			return w, err
		}
		w.machine += rollup["Pss"]
		if child == hub {
			w.hub = rollup["Rss"]
		}
	}
	var err error
	w.mapped, w.shared, err = segments(hub.PID())
	return w, err
}

// smaps sums the fields of /proc/PID/smaps_rollup, in bytes.
func smaps(pid int) (map[string]float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return nil, err
	}
	sums := make(map[string]float64)
	for line := range strings.Lines(string(text)) {
		name, rest, ok := strings.Cut(line, ":")
		var kb float64
		if n, _ := fmt.Sscanf(rest, "%f kB", &kb); ok && n == 1 {
			sums[name] += kb * 1024
		}
	}
	return sums, nil
}

// segments sums the size and the resident part of a process's mappings of memory
// files.
func segments(pid int) (mapped, resident float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return 0, 0, err
	}
	inside := false
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) > 0 && !bytes.HasSuffix(fields[0], []byte(":")) {
			inside = bytes.Contains(line, []byte("/memfd:"))
			continue
		}
		if !inside || len(fields) < 2 {
			continue
		}
		kb, notANumber := strconv.ParseFloat(string(fields[1]), 64)
		if notANumber != nil {
			continue
		}
		switch string(fields[0]) {
		case "Size:":
			mapped += kb * 1024
		case "Rss:":
			resident += kb * 1024
		}
	}
	return mapped, resident, nil
}

// collect frees garbage and returns memory to the kernel.
func collect() {
	runtime.GC()
	debug.FreeOSMemory()
}

// idleHub listens on its only argument, and takes one message from each peer.
func idleHub(args []string) error {
	ep, err := bmi.Open(context.Background(), bmi.Config{Listen: args})
	if err != nil {
		return err
	}
	greeted := make(chan struct{}, idleProcesses*max(idleEach, idleEachTCP))
	if err := ep.Handle(service.Class(ep, args[0], idleClass), func(bmi.Message) { greeted <- struct{}{} }); err != nil {
		return err
	}
	fmt.Println("ok", ep.Addresses()[0])
	var known []bmi.Addr
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var n int
		word, count, _ := strings.Cut(lines.Text(), " ")
		_, _ = fmt.Sscan(count, &n)
		answer := ""
		switch word {
		case "await":
			for range n {
				<-greeted
			}
		case "know":
			known = make([]bmi.Addr, 0, n) // allocated beforehand, so that it does not count
			bytes, err := heapOf(func() error {
				for i := range n {
					a, err := ep.Lookup(fmt.Sprintf("%s://stranger-%d", ours, i))
					if err != nil {
						return err
					}
					known = append(known, a)
				}
				return nil
			})
			if err != nil {
				return err
			}
			answer = fmt.Sprint(float64(bytes) / float64(n))
		}
		collect()
		fmt.Println("ok", answer)
	}
	runtime.KeepAlive(known)
	return ep.Close()
}

// heapOf is the growth of the heap during f.
func heapOf(f func() error) (uint64, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := f(); err != nil {
		return 0, err
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc, nil
}

// idlePeers opens endpoints, and connects all of them on command. Its arguments
// are the hub's address and the number of endpoints.
func idlePeers(args []string) error {
	var each int
	if len(args) != 2 {
		return fmt.Errorf("want the address of the hub and a number, not %q", args)
	}
	if _, err := fmt.Sscan(args[1], &each); err != nil {
		return fmt.Errorf("bad number of endpoints: %q", args[1])
	}
	var eps []*bmi.Endpoint
	for range each {
		ep, err := bmi.Open(context.Background(), bmi.Config{Methods: []string{service.MethodOf(args[0])}})
		if err != nil {
			return err
		}
		eps = append(eps, ep)
	}
	fmt.Println("ok")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "connect" {
			for _, ep := range eps {
				if err := greet(ep, args[0]); err != nil {
					return err
				}
			}
		}
		collect()
		fmt.Println("ok")
	}
	for _, ep := range eps {
		if err := ep.Close(); err != nil {
			return err
		}
	}
	return nil
}

func greet(ep *bmi.Endpoint, address string) error {
	a, err := ep.Lookup(address)
	if err != nil {
		return err
	}
	c, err := ep.OpenContext()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), runMax)
	defer cancel()
	return c.SendUnexpected(ctx, a, service.Class(ep, address, idleClass), 1, []byte("hello"))
}
