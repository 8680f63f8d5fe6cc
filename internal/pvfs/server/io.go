package server

import (
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// ioOps are the operations on the bytes of files.
var ioOps = map[proto.Op]*operation{
	proto.OpIO: {changes: writes, needs: ioNeeds(func(r *proto.IOReq) (proto.Handle, proto.IOType) { return r.Handle, r.Type }), flow: func(s *Server, q *query, c *rpc.Call) {
		if err := s.io(q, c, q.req.(*proto.IOReq)); err != nil {
			s.failed(err)
			c.Fail(err)
		}
	}},
	proto.OpSmallIO: {changes: writes, needs: ioNeeds(func(r *proto.SmallIOReq) (proto.Handle, proto.IOType) { return r.Handle, r.Type }),
		run: on((*Server).smallIO)},
	proto.OpTruncate: changes(on((*Server).truncate), object(datafileName, func(r *proto.TruncateReq) proto.Handle { return r.Handle }).any(proto.MayWrite)),
	proto.OpFlush:    reads(on((*Server).flush), object(objectName, func(r *proto.FlushReq) proto.Handle { return r.Handle }).listed().strictly()),
	proto.OpStatFS:   reads(on((*Server).statFS)),
}

const datafileName = "the datafile, of the file that the capability is for"

// ioNeeds are what a transfer of a datafile's bytes needs: the capability lists it and the metafile that the hint names, and gives
// the right to read or to write.
func ioNeeds[R any, P interface {
	*R
	proto.Request
}](of func(P) (proto.Handle, proto.IOType)) []need {
	return []need{{
		object: datafileName, rights: "read or write, as the request does",
		of: func(q *query) []proto.Handle {
			h, _ := of(q.req.(P))
			return []proto.Handle{h}
		},
		shown: func(_ *Server, q *query, objects []proto.Handle) error {
			switch _, dir := of(q.req.(P)); dir {
			case proto.IORead:
				return q.mayIO(objects, proto.MayRead)
			case proto.IOWrite:
				return q.mayIO(objects, proto.MayWrite)
			}
			return proto.EINVAL
		},
	}}
}

// mayIO checks that the capability lists datafiles and the metafile of the hint, and gives a right.
func (q *query) mayIO(datafiles []proto.Handle, right proto.OpMask) error {
	metafile := q.near()
	if metafile == 0 {
		return proto.EINVAL
	}
	if err := q.may(right, metafile); err != nil {
		return err
	}
	return q.may(right, datafiles...)
}

// writes reports whether an I/O is a write.
func writes(req proto.Request) bool {
	switch r := req.(type) {
	case *proto.IOReq:
		return r.Type == proto.IOWrite
	case *proto.SmallIOReq:
		return r.Type == proto.IOWrite
	}
	return false
}

// io moves bytes of one datafile in a flow.
func (s *Server) io(q *query, c *rpc.Call, req *proto.IOReq) error {
	if req.Flow != proto.FlowMultiqueue {
		return proto.EINVAL
	}
	t, err := transferOf(s.turn(q), req.Dist, req.ServerNr, req.ServerCt, req.Request, req.FileOffset, req.Aggregate)
	if err != nil {
		return err
	}
	data, err := s.openData(q, req.Handle, req.Type == proto.IOWrite)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	size, err := data.Size()
	if err != nil {
		return err
	}
	all, stored, err := t.bytes(size)
	if err != nil {
		return err
	}
	if req.Type == proto.IOWrite {
		return s.writeFlow(c, data, t, size, all)
	}
	return s.readFlow(c, data, t, size, stored)
}

// writeFlow receives bytes directly into the datafile.
func (s *Server) writeFlow(c *rpc.Call, data *store.Data, t transfer, size, total int64) error {
	at := t.cursor()
	defer at.stop()
	write := func(part []byte, phys int64) error {
		_, err := data.WriteAt(part, phys)
		return err
	}
	written, err := c.ReceiveFlow(&proto.IOResp{Size: size}, total, func(b []byte, _ int64) error { return at.each(b, write) })
	s.admin.perf.add(countWrite, written)
	s.admin.perf.add(countIOWrite, written)
	s.admin.perf.add(countFlowWrite, written)
	if err == nil && s.store.SyncsData() {
		err = data.Sync()
	}
	if err != nil {
		return err
	}
	s.changes.Add(1)
	c.Reply(&proto.WriteCompletionResp{Written: written})
	return nil
}

// readFlow sends bytes directly from the datafile. If the file becomes shorter meanwhile, the missing bytes are zeros.
func (s *Server) readFlow(c *rpc.Call, data *store.Data, t transfer, size, total int64) error {
	src := &source{data: data, at: t.cursor()}
	defer src.at.stop()
	sent, err := c.SendFlow(&proto.IOResp{Size: size}, total, src)
	s.admin.perf.add(countRead, sent)
	s.admin.perf.add(countIORead, sent)
	s.admin.perf.add(countFlowRead, sent)
	return err
}
