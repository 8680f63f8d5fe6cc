package watchtest

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// Epoch is when all these processes started.
var Epoch = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// Warm is how long they have run at second 0.
const Warm = 1000 * time.Second

// process is a process some seconds after it has warmed up.
func process(program, host string, pid, second int) *watch.Snapshot {
	return &watch.Snapshot{
		Program: program, Host: host, PID: pid, Version: "v0.9.0",
		Started: Epoch, Taken: Epoch.Add(Warm + time.Duration(second)*time.Second),
	}
}

// Client has n peers. Its counters grow each second: most with the peers that have the lowest numbers.
func Client(n, second int) *watch.Snapshot {
	s := process("solver", "node1", 4711, second)
	e := watch.Endpoint{Peers: make([]watch.Peer, n), UnexpectedMessages: 3, UnexpectedBytes: 3 * 4096}
	age := uint64(1000 + second)
	var sent, received, messages uint64
	for i := range e.Peers {
		e.Peers[i] = peerOf(i, age)
		p := &e.Peers[i]
		sent, received, messages = sent+p.BytesSent, received+p.BytesReceived, messages+p.MessagesSent
	}
	e.Methods = []watch.Method{
		{Name: "via+udp", Address: "via+udp://10.0.0.1:7000", BytesSent: sent, BytesReceived: received, MessagesSent: messages, MessagesReceived: messages},
		{Name: "via+shm", Address: "via+shm://solver-4711"},
	}
	s.Endpoints = []watch.Endpoint{e}
	return s
}

// peerOf is peer i after some seconds.
func peerOf(i int, age uint64) watch.Peer {
	speed := uint64(64<<20) / uint64(i+1)
	p := watch.Peer{
		Method: "via+udp", Address: fmt.Sprintf("via+udp://10.0.%d.%d:7000", i/250, i%250+1), State: "READY",
		Since: Epoch, Credits: 15 - i%4, Window: 64, RoundTrip: time.Duration(40+i%50) * time.Microsecond,
		BytesSent: speed * age, BytesReceived: speed / 2 * age, MessagesSent: speed / 4096 * age, MessagesReceived: speed / 8192 * age,
	}
	switch {
	case i%97 == 5:
		p.State, p.Credits, p.RoundTrip, p.QueuedSends, p.QueuedBytes = "WAIT", 0, 0, 1+i%3, 65536
	case i%41 == 7:
		p.Retransmissions, p.Lost, p.RoundTrip = uint64(i%13)*age/10, age/100, 12*time.Millisecond
	}
	if i == 2 {
		p.Rails = []watch.Rail{
			{Name: "10.0.0.1 to 10.0.0.3", State: "up", BytesSent: p.BytesSent / 2, BytesReceived: p.BytesReceived / 2},
			{Name: "10.1.0.1 to 10.1.0.3", State: "down", BytesSent: p.BytesSent / 2, BytesReceived: p.BytesReceived / 2},
		}
	}
	return p
}

// bounds of the latencies of a server, in seconds.
var bounds = []float64{0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1}

// Server is a file server that heals.
func Server(alias string, second int) *watch.Snapshot {
	s := process("pvfsd", alias, 900, second)
	age := uint64(1000 + second)
	s.Endpoints = []watch.Endpoint{{Methods: []watch.Method{{Name: "tcp", Address: "tcp://" + alias + ":3334", BytesSent: 90 << 20 * age, BytesReceived: 30 << 20 * age, MessagesSent: 900 * age, MessagesReceived: 900 * age}}}}
	for i := range 12 {
		s.Endpoints[0].Peers = append(s.Endpoints[0].Peers, watch.Peer{Method: "tcp", Address: fmt.Sprintf("tcp://10.0.2.%d:49000", i+1), State: "READY", Since: Epoch,
			BytesSent: 7 << 20 * age, BytesReceived: 2 << 20 * age, MessagesSent: 75 * age, MessagesReceived: 75 * age})
	}
	request := func(kind string, rate, failed, active uint64, middle int) watch.Request {
		r := watch.Request{Kind: kind, Count: rate * age, Failed: failed * age, Active: active, Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
		r.Counts[middle], r.Counts[middle+1], r.Counts[middle+3] = rate*age*8/10, rate*age*19/100, rate*age/100
		r.Sum = float64(r.Count) * bounds[middle]
		return r
	}
	s.Server = &watch.Server{
		Alias: alias, FileSystem: "pvfs2-fs", BytesRead: 85 << 20 * age, BytesWritten: 28 << 20 * age, SpaceTotal: 4 << 40, SpaceFree: 4<<40 - (2900 << 30),
		Requests: []watch.Request{
			request("io", 320, 0, 6, 6), request("getattr", 410, 2, 0, 0), request("lookup", 160, 8, 0, 1), request("create", 12, 0, 1, 3), request("readdir", 5, 0, 0, 4),
		},
		Heal:    &watch.Progress{Running: true, Done: (40 << 30) + 80<<20*age, Total: 900 << 30, Unit: "bytes", Found: 41, Repaired: 38},
		Scrub:   &watch.Progress{Done: 8000, Total: 8000, Unit: "datafiles", Found: 2, Repaired: 2},
		Refused: map[string]uint64{"no right to do this": 3 * age / 100, "signature of a credential": 4},
	}
	return s
}

// Job is a job of size ranks, of at least 8. Ranks 0, 1 and 2 wait for each other in a circle, rank 3 waits for 0, and the others are
// in a barrier that these do not reach, but for the last, which computes.
func Job(size, second int) []*watch.Snapshot {
	var all []*watch.Snapshot
	since := Epoch.Add(Warm - 40*time.Second)
	for rank := range size {
		s := process("heat", fmt.Sprintf("node%d", 1+rank*2/size), 5000+rank, second)
		r := &watch.Rank{Job: "heat-81", Rank: rank, Size: size}
		wait := watch.Wait{Call: "MPI_Barrier", Peers: []int{0}, Tag: -1, Since: since.Add(20 * time.Second)}
		switch {
		case rank < 3:
			wait = watch.Wait{Call: "MPI_Recv", Peers: []int{(rank + 1) % 3}, Tag: 7, Since: since}
		case rank == 3:
			wait = watch.Wait{Call: "MPI_Ssend", Peers: []int{0}, Tag: 9, Since: since.Add(5 * time.Second)}
		}
		if rank != size-1 {
			r.Waits = []watch.Wait{wait}
		}
		s.Rank = r
		all = append(all, s)
	}
	return all
}

// Markup is a name that would do harm if a page took it for markup.
const Markup = `<script>document.title="owned"</script><img src=x onerror=document.title="owned">`

// Hostile is a process with such names everywhere.
func Hostile(second int) *watch.Snapshot {
	s := process(Markup, Markup, 666, second)
	s.Version = Markup
	s.Endpoints = []watch.Endpoint{{
		Methods: []watch.Method{{Name: Markup, Address: Markup}},
		Peers:   []watch.Peer{{Method: Markup, Address: Markup, State: Markup, Rails: []watch.Rail{{Name: Markup, State: Markup}}}},
	}}
	s.Server = &watch.Server{
		Alias: Markup, FileSystem: Markup, Requests: []watch.Request{{Kind: Markup, Count: 5}}, Refused: map[string]uint64{Markup: 1},
		Heal: &watch.Progress{Running: true, Unit: Markup, Done: 1, Total: 2},
	}
	s.Rank = &watch.Rank{Job: Markup, Size: 1, Waits: []watch.Wait{{Call: Markup, Peers: []int{0}, Since: Epoch}}}
	return s
}
