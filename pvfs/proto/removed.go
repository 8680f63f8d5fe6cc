package proto

import (
	"fmt"
	"strconv"
)

// HintRemoves is the name of a hint of type HintUnknown that clients and servers of ours send, and that other servers do not
// look at. Its text is a handle. A server that knows the hint says so in its answer to RMDIRENT, REMOVE and MGMT_NOOP, by a mark
// that comes behind the fields. It means
//
//	with RMDIRENT     if the name is of this file or symlink, remove that, too
//	with TREE_REMOVE  of another server: names of the objects were removed from this directory, by who may do that; remove
//	                  what REMOVE would with the right to remove there
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

// A RemovedMark says what became of the object of the hint.
type RemovedMark uint64

// The marks.
const (
	// MarkNone: none was sent, the server does not know the hint.
	MarkNone RemovedMark = 0
	// MarkKept: the object was not looked at, or is not to be removed so. REMOVE does.
	MarkKept RemovedMark = 1
	// MarkRemoved: it is gone, or will be if it is of another server, which is one that knows the hint; and a file's datafiles
	// are or will be.
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

// removedMark takes the mark that may end a message.
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

// MarkedRmDirentResp is RmDirentResp in answer to a request with the hint, of a server that knows it or not.
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

// MarkedRemoveResp is RemoveResp in answer to a request with the hint, of a server that knows it or not.
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

// MarkedNoopResp is NoopResp in answer to a request with the hint, of a server that knows it or not.
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
