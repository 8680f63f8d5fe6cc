package client

import (
	"context"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Sizes of a SMALL_IO request without its data: the fixed part, rounded up, and one node of the file request.
const (
	smallHeaderBytes = 448
	nodeBytes        = 80
)

// smallWriteMax is how many bytes fit in a request with this header.
func smallWriteMax(h *proto.Header, d *proto.Dist, nodes int) int64 {
	c := &h.Capability
	rest := smallHeaderBytes + len(c.Issuer) + len(c.Signature) + 8*len(c.Handles) + len(d.Name) + len(d.Strips) + nodeBytes*nodes
	return int64(max(proto.MaxUnexpected-rest, 0))
}

// little moves the bytes of one datafile inside the request or the response.
func (t *transfer) little(ctx context.Context, h *proto.Header, i int) error {
	share := t.shares[i]
	if share == 0 {
		return nil
	}
	req := &proto.SmallIOReq{
		Handle: t.datafiles[i], FS: t.fs.cfg.ID, Type: t.typ, ServerNr: uint32(i), ServerCt: uint32(len(t.datafiles)),
		Dist: t.dist, Request: t.req, FileOffset: t.off, Aggregate: t.mem.size,
	}
	var resp proto.SmallIOResp
	whole := t.whole(i)
	if t.typ == proto.IOWrite {
		req.Total = share
		if req.Data = whole; whole == nil {
			req.Data = make([]byte, 0, share)
			for part := range t.mem.of(t.op.Pieces(i)) {
				req.Data = append(req.Data, part...)
			}
		}
		err := t.fs.call(ctx, t.datafiles[i], h, req, &resp)
		if err == nil && resp.Result != share {
			err = fmt.Errorf("%d of %d bytes written: %w", resp.Result, share, proto.EIO)
		}
		return err
	}
	resp.Data = whole[:0]
	if err := t.fs.call(ctx, t.datafiles[i], h, req, &resp); err != nil {
		return err
	}
	got := int64(len(resp.Data))
	if got > share || resp.Result != got {
		return fmt.Errorf("%d bytes read, %d sent, %d asked for: %w", resp.Result, got, share, proto.EPROTO)
	}
	t.sizes[i], t.moved[i] = resp.Size, got
	if whole == nil {
		rest := resp.Data
		for part := range t.mem.of(t.op.Pieces(i)) {
			rest = rest[copy(part, rest):]
		}
	} else if got > 0 && &whole[0] != &resp.Data[0] {
		copy(whole, resp.Data)
	}
	return nil
}

// whole is the memory of a datafile's share if that is contiguous, else nil. Its capacity is its length.
func (t *transfer) whole(i int) []byte {
	if t.mem.ends != nil {
		return nil
	}
	for p := range t.op.Pieces(i) {
		if p.Len == t.shares[i] {
			return t.mem.bufs[0][p.Mem : p.Mem+p.Len : p.Mem+p.Len]
		}
		break
	}
	return nil
}

// flow moves the bytes of one datafile in a flow, directly from or into memory.
func (t *transfer) flow(ctx context.Context, h *proto.Header, i int) error {
	if t.shares[i] == 0 {
		return nil
	}
	server, err := t.fs.owner(t.datafiles[i])
	if err != nil {
		return err
	}
	fl := &rpc.Flow{
		To: t.fs.servers[server].addr, Header: h, Total: t.shares[i],
		Memory: t.mem.of(t.op.Pieces(i)),
		Request: &proto.IOReq{
			Handle: t.datafiles[i], FS: t.fs.cfg.ID, ServerNr: uint32(i), ServerCt: uint32(len(t.datafiles)),
			Dist: t.dist, Request: t.req, FileOffset: t.off, Aggregate: t.mem.size,
		},
	}
	if datatype.IsBytes(t.req) {
		fl.Offset = t.place.Cut(t.off, i, len(t.datafiles))
	} else {
		fl.Below = func(size int64) int64 { return t.op.Stored(i, size) }
	}
	move := t.fs.caller.ReadFlow
	if t.typ == proto.IOWrite {
		move = t.fs.caller.WriteFlow
	}
	for try := 0; ; try++ {
		result, err := move(ctx, fl)
		if err == nil {
			t.sizes[i], t.moved[i] = result.Size, result.Moved
			return nil
		}
		if !passing(err) || try >= t.fs.retryLimit {
			return err
		}
		t.fs.opt.Log.Warn("pvfs: a flow broke off, trying again", "server", t.fs.servers[server].alias, "error", err)
		if stop := t.fs.pause(ctx, t.fs.retryDelay); stop != nil {
			return err
		}
	}
}
