package proto

import (
	"fmt"
	"strconv"
)

// HintRemoves is the name of a hint of type HintUnknown. Clients and servers of ours send it; stock servers ignore it. Its text
// is a handle. A server that knows the hint says so in its answer to RMDIRENT, REMOVE and MGMT_NOOP, by a mark after the fields.
// The hint means
//
//	with RMDIRENT     if the name refers to this file or symlink, remove that, too
//	with TREE_REMOVE  from another server: names of the objects were removed from this directory, by users with the right to
//	                  do so; remove the objects that REMOVE would with the right to remove there
const HintRemoves = "viaduct.remove"

// RemovesHint is that hint for an object.
func RemovesHint(h Handle) Hint {
	return Hint{Name: HintRemoves, Text: strconv.FormatUint(uint64(h), 10)}
}

// Removes returns the object of that hint.
func (h Hints) Removes() (object Handle, ok bool) {
	text, _ := h.ours(HintRemoves)
	n, err := strconv.ParseUint(text, 10, 64)
	return Handle(n), err == nil
}

// A RemovedMark is the result for the object of the hint.
type RemovedMark uint64

// The marks.
const (
	// MarkNone: there was no mark, so the server does not know the hint.
	MarkNone RemovedMark = 0
	// MarkKept: the object was not examined, or must be removed by REMOVE.
	MarkKept RemovedMark = 1
	// MarkRemoved: the object is gone, with a file's datafiles. Parts on other servers, all of which know the hint, will be
	// removed soon.
	MarkRemoved RemovedMark = 2
)

func (m RemovedMark) String() string {
	switch m {
	case MarkNone:
		return "none"
	case MarkKept:
		return "kept"
	case MarkRemoved:
		return "removed"
	}
	return strconv.FormatUint(uint64(m), 10)
}

// removedMark writes a mark.
func (w *writer) removedMark(m RemovedMark) {
	if m != MarkNone {
		w.u64(uint64(m))
	}
}

// removedMark parses the mark that may end a message.
func (r *reader) removedMark() RemovedMark {
	if r.left() == 0 {
		return MarkNone
	}
	m := RemovedMark(r.u64("mark"))
	if m != MarkKept && m != MarkRemoved {
		r.fail(ErrMalformed, "mark", "%d", uint64(m))
	}
	return m
}

// MarkedRmDirentResp is the RmDirentResp to a request with the hint. It may come from a server that does not know the hint.
type MarkedRmDirentResp struct {
	Handle Handle
	Mark   RemovedMark
}

// Op is OpRmDirent.
func (*MarkedRmDirentResp) Op() Op { return OpRmDirent }

func (p *MarkedRmDirentResp) String() string {
	return fmt.Sprintf("RESP RMDIRENT handle=%d mark=%v", p.Handle, p.Mark)
}

// Append is AppendResponse.
func (p *MarkedRmDirentResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *MarkedRmDirentResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *MarkedRmDirentResp) append(w *writer) {
	w.handle(p.Handle)
	w.removedMark(p.Mark)
}

func (p *MarkedRmDirentResp) parse(r *reader) {
	p.Handle = r.handle("handle")
	p.Mark = r.removedMark()
}

// MarkedRemoveResp is the RemoveResp to a request with the hint. It may come from a server that does not know the hint.
type MarkedRemoveResp struct{ Mark RemovedMark }

// Op is OpRemove.
func (*MarkedRemoveResp) Op() Op { return OpRemove }

func (p *MarkedRemoveResp) String() string { return fmt.Sprintf("RESP REMOVE mark=%v", p.Mark) }

// Append is AppendResponse.
func (p *MarkedRemoveResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *MarkedRemoveResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *MarkedRemoveResp) append(w *writer) { w.removedMark(p.Mark) }

func (p *MarkedRemoveResp) parse(r *reader) { p.Mark = r.removedMark() }

// MarkedNoopResp is the NoopResp to a request with the hint. It may come from a server that does not know the hint.
type MarkedNoopResp struct{ Mark RemovedMark }

// Op is OpNoop.
func (*MarkedNoopResp) Op() Op { return OpNoop }

func (p *MarkedNoopResp) String() string { return fmt.Sprintf("RESP MGMT_NOOP mark=%v", p.Mark) }

// Append is AppendResponse.
func (p *MarkedNoopResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *MarkedNoopResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *MarkedNoopResp) append(w *writer) { w.removedMark(p.Mark) }

func (p *MarkedNoopResp) parse(r *reader) { p.Mark = r.removedMark() }
