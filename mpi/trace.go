package mpi

import (
	"strconv"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// A traceHook writes the calls of a process to its trace, and passes them on to the program's own hook. Calls that run at once
// are on different tracks, because those of one track must not overlap.
type traceHook struct {
	trace *trace.Trace
	next  Hook // may be nil

	mu    sync.Mutex
	idle  []*trace.Track // the first track last
	count int            // of tracks
}

// A tracedCall is the data that the traceHook keeps for a call. It contains the data of the program's hook.
type tracedCall struct {
	track *trace.Track
	began time.Duration
	data  any // of the next hook
}

// traceTracksMax is how many calls at once are traced; more are not.
const traceTracksMax = 64

// traceTrackEvents is the size of the ring of a track.
const traceTrackEvents = 2048

// tracedMPI is the kind of calls in a trace.
var tracedMPI = trace.Kind{
	Name: "call", Category: "mpi",
	Nums: [...]string{"bytes", "peer", "tag", "world_peer", "ranks", ""},
	Strs: [...]string{"comm", "result", ""},
}

// startTrace puts the calls of the process into the trace of its endpoint, if that has one.
func (p *Process) startTrace() {
	if t := p.ep.Trace(); t != nil {
		p.hook = &traceHook{trace: t, next: p.hook}
		t.Meta("viaduct_rank", nil, "rank", strconv.Itoa(p.boot.Rank()), "ranks", strconv.Itoa(p.boot.Size()), "job", p.boot.JobID())
	}
}

// Enter implements Hook.
func (h *traceHook) Enter(call *Call) {
	if h.next != nil {
		h.next.Enter(call)
	}
	k := h.takeTrack()
	traced := &tracedCall{track: k, data: call.Data}
	if k != nil {
		traced.began = k.Now()
	}
	call.Data = traced
}

// Leave implements Hook.
func (h *traceHook) Leave(call *Call, err error) {
	traced := call.Data.(*tracedCall)
	if traced.track != nil {
		h.write(traced, call, err)
		h.giveTrack(traced.track)
	}
	call.Data = traced.data
	if h.next != nil {
		h.next.Leave(call, err)
	}
	if call.Name == "MPI_Finalize" {
		_ = h.trace.Flush() // the endpoint, which is closed now, has logged an error
	}
}

func (h *traceHook) write(traced *tracedCall, call *Call, err error) {
	e := trace.Event{
		Kind: &tracedMPI, Phase: trace.Call, Name: call.Name, At: traced.began, End: traced.track.Now(),
		Nums: [...]int64{int64(call.Bytes), orNone(call.Peer), orNone(call.Tag), trace.None, trace.None, 0},
	}
	if c := call.Comm; c != nil {
		e.Strs[0] = c.traceName()
		e.Nums[3] = c.worldRank(call.Peer)
		e.Nums[4] = int64(c.Size())
	}
	if err != nil {
		e.Strs[1] = err.Error()
	}
	traced.track.Put(&e)
}

// orNone returns trace.None for a number that a call does not have. Wildcards are kept.
func orNone(n int) int64 {
	if n == Undefined {
		return trace.None
	}
	return int64(n)
}

// takeTrack returns a track that no other call uses; nil if there are too many.
func (h *traceHook) takeTrack() *trace.Track {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.idle); n > 0 {
		k := h.idle[n-1]
		h.idle = h.idle[:n-1]
		return k
	}
	if h.count == traceTracksMax {
		return nil
	}
	h.count++
	return h.trace.NewTrack("MPI calls "+strconv.Itoa(h.count), traceTrackEvents)
}

func (h *traceHook) giveTrack(k *trace.Track) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle = append(h.idle, k)
}

// traceName is the name of a communicator in a trace: its own, or its number, which is the same in all its processes.
func (c *Comm) traceName() string {
	if name := c.String(); name != "" {
		return name
	}
	return "communicator " + strconv.Itoa(int(c.ctx))
}

// worldRank is the rank in MPI_COMM_WORLD of a peer; None if it has none.
func (c *Comm) worldRank(peer int) int64 {
	if c.state.Load() == commNotMade || peer < 0 || peer >= c.peers {
		return trace.None
	}
	group := c.group
	if c.remote != nil {
		group = c.remote
	}
	proc, err := group.At(peer)
	if err != nil || c.p.world == nil {
		return trace.None
	}
	return orNone(c.p.world.group.Rank(proc))
}
