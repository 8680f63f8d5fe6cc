package proto

import "fmt"

// nodeSize is the size of a node, bytes.
const nodeSize = 80

func (q FileRequest) String() string {
	switch {
	case len(q) == 0 || len(q) == 1 && q[0] == byteStream:
		return "bytes"
	case len(q) == 1:
		return fmt.Sprintf("%+v", q[0])
	}
	return fmt.Sprintf("{%d nodes, %+v ...}", len(q), q[0])
}

var byteStream = ByteStream()[0]

// fileRequest writes a file request. One without nodes is written as a byte stream.
func (w *writer) fileRequest(q FileRequest) {
	if len(q) == 0 {
		w.i32(0)
		w.skip4()
		w.node(&byteStream)
		return
	}
	w.count(len(q) - 1)
	w.skip4()
	for i := range q {
		w.node(&q[i])
	}
}

func (w *writer) node(n *ReqNode) {
	w.i64(n.Offset)
	w.i32(n.NumEreqs)
	w.i32(n.NumBlocks)
	w.i64(n.Stride)
	w.i64(n.UpperBound)
	w.i64(n.LowerBound)
	w.i64(n.Aggregate)
	w.i32(n.Chunks)
	w.i32(n.Depth)
	w.i32(n.Nested)
	w.i32(n.Committed)
	w.i32(n.RefCount)
	w.skip4()
	w.i32(n.Element)
	w.i32(n.Sequence)
}

func (r *reader) fileRequest() FileRequest {
	// There is one node more than the number says.
	n := r.count("file request", MaxNested, nodeSize)
	r.skip4()
	if r.left() < (n+1)*nodeSize {
		r.fail(ErrMalformed, "file request", "%d nodes do not fit in the rest of the message", n+1)
		return nil
	}
	q := make(FileRequest, n+1)
	for i := range q {
		q[i] = r.node()
	}
	return q
}

func (r *reader) node() (n ReqNode) {
	n.Offset = r.i64("file request offset")
	n.NumEreqs = r.i32("file request elements")
	n.NumBlocks = r.i32("file request blocks")
	n.Stride = r.i64("file request stride")
	n.UpperBound = r.i64("file request upper bound")
	n.LowerBound = r.i64("file request lower bound")
	n.Aggregate = r.i64("file request size")
	n.Chunks = r.i32("file request chunks")
	n.Depth = r.i32("file request depth")
	n.Nested = r.i32("file request nested")
	n.Committed = r.i32("file request committed")
	n.RefCount = r.i32("file request references")
	r.skip4()
	n.Element = r.i32("file request element")
	n.Sequence = r.i32("file request sequence")
	return n
}
