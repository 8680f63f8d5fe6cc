package rma

import (
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/apply"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/epoch"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// A server executes what other processes ask of this process's part of a window, when it arrives,
// and keeps the part's lock. It trusts nothing: a request outside the window is refused, and one that
// no process sends ends its sender. The engine calls its methods with its lock held, one at a time.
type server struct {
	w       *Win
	queue   epoch.Queue
	waiting map[int]core.Reply // of ranks that wait for the lock
	runs    []apply.Run
	granted []byte

	mu       sync.Mutex
	attached []attachment      // of a dynamic window, by address; guarded by mu
	exposed  map[int][]exposed // to ranks; guarded by mu
}

// An attachment is memory of a dynamic window.
type attachment struct {
	base uint64
	mem  []byte
}

// Serve implements core.Server.
func (s *server) Serve(rank int, body []byte, r core.Reply, answer []byte) (_ []byte, kept bool, err error) {
	q, err := wire.ParseRequest(body)
	if err != nil {
		return nil, false, err
	}
	if s.w.locks != nil || r.Waits() != (q.Kind == wire.Lock) {
		return nil, false, errMalformed // a process that maps the memory and its locks does not call
	}
	switch q.Kind {
	case wire.Lock:
		return s.lock(rank, q.Op == 1, r, answer)
	case wire.Unlock:
		return s.unlock(rank, answer), false, nil
	case wire.PutLong, wire.GetLong:
		return s.serveLong(rank, &q, r, answer)
	case wire.Expose:
		answer, err = s.expose(rank, &q, r, answer)
		return answer, false, err
	}
	answer, err = s.execute(&q, answer)
	return answer, false, err
}

// lock gives a rank the lock, or lets it wait.
func (s *server) lock(rank int, exclusive bool, r core.Reply, answer []byte) ([]byte, bool, error) {
	switch s.queue.Lock(rank, exclusive) {
	case epoch.Granted:
		return append(answer, byte(wire.Done)), false, nil
	case epoch.Twice:
		return append(answer, byte(wire.HeldTwice)), false, nil
	case epoch.Broken:
		return append(answer, byte(wire.HolderDied)), false, nil
	}
	if s.waiting == nil {
		s.waiting = make(map[int]core.Reply)
	}
	s.waiting[rank] = r
	return nil, true, nil
}

// unlock takes the lock back, and gives it to those that wait.
func (s *server) unlock(rank int, answer []byte) []byte {
	granted, ok := s.queue.Unlock(rank)
	s.tell(granted, wire.Done)
	if !ok {
		return append(answer, byte(wire.NotHeld))
	}
	return append(answer, byte(wire.Done))
}

// tell answers ranks that waited for the lock.
func (s *server) tell(ranks []int, result wire.Result) {
	for _, rank := range ranks {
		r := s.waiting[rank]
		delete(s.waiting, rank)
		s.granted = append(s.granted[:0], byte(result))
		r.ReturnLocked(s.granted)
	}
}

// Lost implements core.Server.
func (s *server) Lost(rank int) {
	s.withdrawFrom(rank)
	if _, ok := s.waiting[rank]; ok {
		s.tell([]int{rank}, wire.HolderDied)
	}
	granted, refused := s.queue.Lost(rank)
	s.tell(granted, wire.Done)
	s.tell(refused, wire.HolderDied)
}

// execute does a request on the memory, all of it or nothing.
func (s *server) execute(q *wire.Request, answer []byte) ([]byte, error) {
	n, result := s.locate(q)
	if result != wire.Done {
		return append(answer, byte(result)), nil
	}
	elem, op := datatype.Kind(q.Elem), apply.Op(q.Op)
	data := q.Data
	switch q.Kind {
	case wire.Put:
		if len(data) != n {
			return nil, errMalformed
		}
	case wire.Get:
		if len(data) != 0 || n > answerBytesMax {
			return nil, errMalformed
		}
	case wire.Compare:
		if apply.CheckSwap(elem) != nil || len(s.runs) != 1 || n != elem.Size() || len(data) != 2*n {
			return nil, errMalformed
		}
	default:
		noData := op == apply.NoOp && q.Kind == wire.GetAccumulate && len(data) == 0
		if datatype.ByKind(elem) == nil || apply.Check(op, elem) != nil || n%elem.Size() != 0 || !noData && len(data) != n || n > answerBytesMax {
			return nil, errMalformed
		}
		if noData {
			data = nil
		}
	}
	answer = append(answer, byte(wire.Done))
	var old []byte
	if q.Kind != wire.Put && q.Kind != wire.Accumulate {
		at := len(answer)
		answer = slices.Grow(answer, n)[:at+n]
		old = answer[at:]
	}
	if err := s.perform(q.Kind, op, elem, data, old); err != nil {
		return nil, err
	}
	return answer, nil
}

// answerBytesMax limits what one request may ask for; the engine has a lower limit.
const answerBytesMax = 16 << 10

// locate finds the bytes of a request, and returns their number.
func (s *server) locate(q *wire.Request) (n int, _ wire.Result) {
	s.runs = s.runs[:0]
	result := wire.Done
	q.Runs(func(off uint64, length uint32) bool {
		switch {
		case s.mem(off, uint64(length)) == nil:
			result = s.nowhere()
		case length > answerBytesMax || n+int(length) > answerBytesMax:
			result = wire.NoRange // more than any request carries or asks for
		default:
			n += int(length)
			s.runs = append(s.runs, apply.Run{Off: int(off), Len: int(length)})
			return true
		}
		return false
	})
	return n, result
}

// nowhere is the answer to a request for bytes that the window does not have.
func (s *server) nowhere() wire.Result {
	if s.w.flavor == Dynamic {
		return wire.NoAttach
	}
	return wire.NoRange
}

// empty is memory of length 0 that is not nil.
var empty = make([]byte, 0)

// mem returns bytes of the window, or nil if there are none at this place. The numbers may be any.
func (s *server) mem(off, length uint64) []byte {
	if s.w.flavor != Dynamic {
		all := uint64(len(s.w.mem))
		if off > all || length > all-off {
			return nil
		}
		if length == 0 {
			return empty
		}
		return s.w.mem[off:][:length]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(off); i >= 0 {
		a := &s.attached[i]
		if in := off - a.base; length <= uint64(len(a.mem))-in {
			return a.mem[in:][:length]
		}
	}
	return nil
}

// perform does a request whose bytes are all in the window.
func (s *server) perform(kind wire.Kind, op apply.Op, elem datatype.Kind, data, old []byte) error {
	lock := &s.w.peers[s.w.me].atom
	switch kind {
	case wire.Put, wire.Get:
		for _, r := range s.runs {
			mem := s.mem(uint64(r.Off), uint64(r.Len))
			if len(mem) != r.Len {
				continue // detached meanwhile
			}
			if kind == wire.Put {
				data = data[copy(mem, data):]
			} else {
				old = old[copy(old, mem):]
			}
		}
		return nil
	case wire.Compare:
		mem := s.mem(uint64(s.runs[0].Off), uint64(s.runs[0].Len))
		if len(mem) == 0 {
			return nil
		}
		n := len(mem)
		return apply.Swap(elem, mem, data[:n], data[n:], old, lock)
	}
	if s.w.flavor != Dynamic {
		return apply.Do(op, elem, s.w.mem, s.runs, data, old, lock)
	}
	return s.performDynamic(op, elem, data, old, lock)
}
