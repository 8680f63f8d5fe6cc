package rma

import (
	"context"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// A long put or get is an announced message of the engine between the origin's memory and the
// window. The method moves it like any large message. A call tells the target to receive or send
// it.

// longBytesMin is the size from which the contiguous part of a window is put or got so.
const longBytesMin = 32 << 10

// Tags of the messages of a window's scope.
const (
	tagPost = iota
	tagComplete
	tagLongMin
)

// isLong tells whether an operation is a long put or get.
func (a *action) isLong() bool {
	if a.kind != wire.Put && a.kind != wire.Get || a.runs.Left() < longBytesMin {
		return false
	}
	runs := a.runs
	runs.Next(math.MaxInt)
	return runs.Left() == 0
}

// beginLong begins a long put or get.
func (w *Win) beginLong(a *action, rank int) core.Request {
	p := &w.peers[rank]
	p.pending.Add(1)
	p.using.Add(1)
	r, end := w.engine.NewOp(nil)
	l := longCall{kind: wire.PutLong}
	n := a.runs.Left()
	off, _ := a.runs.Next(n)
	l.what = wire.Long{Off: uint64(a.base + off), Length: uint64(n), Tag: tagLongMin + w.tags.Add(1)%(core.TagMax-tagLongMin)}
	here := &a.in
	if a.kind == wire.Get {
		l.kind, here = wire.GetLong, &a.out
	}
	b := core.Buffer{Mem: here.mem, Origin: here.origin, Type: here.t, Count: here.count}
	go func() {
		err := w.moveLong(&l, b, rank)
		w.ended(rank, err)
		end(core.Empty, err)
	}()
	return r
}

// moveLong moves the data of a long put or get. It returns when the target has reported the end.
// The origin's memory is free before that.
func (w *Win) moveLong(l *longCall, b core.Buffer, rank int) error {
	held := int32(1)
	defer func() { w.peers[rank].using.Add(-held) }()
	if err := w.postLong(l, b, rank); err != nil {
		return err
	}
	call, err := w.scope.Call(rank, false, wire.HeadBytes+wire.LongBytes, l)
	if err != nil {
		_ = l.data.Cancel()
		_, _ = l.data.Wait(background) // the first error says why
		return err
	}
	_, derr := l.data.Wait(background)
	w.peers[rank].using.Add(-held)
	held = 0
	w.engine.Notify() // for FlushLocal
	if _, err = call.Wait(background); err != nil {
		return err
	}
	return derr
}

// postLong posts the message of a long put or get.
func (w *Win) postLong(l *longCall, b core.Buffer, rank int) (err error) {
	if l.kind == wire.PutLong {
		l.data, err = w.scope.Isend(core.Standard, b, rank, int(l.what.Tag))
	} else {
		l.data, err = w.scope.Irecv(b, rank, int(l.what.Tag))
	}
	return err
}

var background = context.Background()

// A longCall is the call of a long put or get. It implements core.Caller.
type longCall struct {
	kind wire.Kind
	what wire.Long
	data core.Request // the message
}

// Next implements core.Caller.
func (l *longCall) Next(b []byte, _ int) ([]byte, bool) {
	return l.what.Append(wire.Head{Kind: l.kind}.Append(b)), true
}

// Returned implements core.Caller.
func (l *longCall) Returned(_ int, body []byte) (err error, breach bool) {
	_, err, breach = answered(body)
	return err, breach
}

// Ended implements core.Caller. The target does not take the message of a call that has failed.
func (l *longCall) Ended(err error) {
	if data := l.data; err != nil {
		go func() { _ = data.Cancel() }() // the engine must not be called within Ended
	}
}

// serveLong receives or sends the data of a long put or get. The engine lets no process have more
// than a few of them under way.
func (s *server) serveLong(rank int, q *wire.Request, r core.Reply, answer []byte) ([]byte, bool, error) {
	l, err := wire.ParseLong(q.Data)
	if err != nil {
		return nil, false, err
	}
	if l.Tag < tagLongMin || l.Tag > core.TagMax || s.w.flavor == Dynamic || rank == s.w.me {
		return nil, false, errMalformed
	}
	mem := s.mem(l.Off, l.Length)
	if mem == nil {
		return append(answer, byte(wire.NoRange)), false, nil
	}
	go func() {
		err := s.w.takeLong(rank, q.Kind, mem, int(l.Tag))
		result := wire.Done
		if err != nil {
			result = wire.NotFinished
		}
		s.w.scope.Return(r, []byte{byte(result)})
	}()
	return nil, true, nil
}

// takeLong is moveLong at the target.
func (w *Win) takeLong(rank int, kind wire.Kind, mem []byte, tag int) error {
	if kind == wire.PutLong {
		st, err := w.scope.Recv(core.Buffer{Mem: mem}, rank, tag)
		if err == nil && st.Bytes != len(mem) {
			return errclass.New(errclass.Truncate, "%d bytes came instead of %d", st.Bytes, len(mem))
		}
		return err
	}
	return w.scope.Send(core.Standard, core.Buffer{Mem: mem}, rank, tag)
}
