package server

import (
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// ioOps are the operations on the bytes of files.
var ioOps = map[proto.Op]*operation{
	proto.OpIO: {changes: writes, flow: func(s *Server, q *query, c *rpc.Call) {
		if err := s.io(q, c, q.req.(*proto.IOReq)); err != nil {
			s.failed(err)
			c.Fail(err)
		}
	}},
	proto.OpSmallIO:  {changes: writes, run: on((*Server).smallIO)},
	proto.OpTruncate: changes(on((*Server).truncate)),
	proto.OpFlush:    reads(on((*Server).flush)),
	proto.OpStatFS:   reads(on((*Server).statFS)),
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
	if err := q.mayIO(req.Handle, req.Type); err != nil {
		return err
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

// mayIO checks that the query may read or write a datafile: its capability must list the datafile and the metafile that the hint
// names, and allow it.
func (q *query) mayIO(datafile proto.Handle, dir proto.IOType) error {
	metafile := q.near()
	if metafile == 0 {
		return proto.EINVAL
	}
	switch dir {
	case proto.IORead:
		return q.may(proto.MayRead, metafile, datafile)
	case proto.IOWrite:
		return q.may(proto.MayWrite, metafile, datafile)
	}
	return proto.EINVAL
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
