package client

import (
	"context"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// describeAll finds the types of the entries of a directory. It uses few requests, and none for cached objects. If sizes is set,
// the entries get their Info, except those whose objects are gone.
func (f *FS) describeAll(ctx context.Context, dir *inode, entries []proto.DirEntry, sizes bool) ([]*dirEntry, error) {
	list := make([]*dirEntry, len(entries))
	infos := make([]Info, len(entries))
	var ask []int
	now := f.opt.Clock()
	for i, e := range entries {
		list[i] = &dirEntry{f: f, name: e.Name, handle: e.Handle}
		infos[i] = Info{name: e.Name, Handle: e.Handle}
		n := f.table.get(e.Handle)
		a, ok := n.kept(now, f.opt.AttrTime, true)
		f.put(n)
		if ok {
			infos[i].Attr = a
		} else {
			ask = append(ask, i)
		}
	}
	if err := f.listAll(ctx, dir, infos, ask); err != nil {
		return nil, err
	}
	for i := range infos {
		list[i].typ = typeOf(infos[i].Attr.Type)
	}
	if !sizes {
		return list, nil
	}
	if err := f.sizeAll(ctx, dir, infos); err != nil {
		return nil, err
	}
	for i := range infos {
		if infos[i].Attr.Type != proto.TypeNone {
			list[i].info = &infos[i]
		}
	}
	return list, nil
}

// batches groups the items in ask by server, in parts that fit into a request.
func (f *FS) batches(ask []int, handle func(i int) proto.Handle) (all [][]int) {
	by := make(map[int][]int)
	for _, i := range ask {
		if s, err := f.owner(handle(i)); err == nil {
			by[s] = append(by[s], i)
		}
	}
	for s := range f.servers {
		all = slices.AppendSeq(all, slices.Chunk(by[s], proto.MaxListAttr))
	}
	return all
}

// listAll requests the attributes of the infos in ask. Those of missing objects stay empty.
func (f *FS) listAll(ctx context.Context, dir *inode, infos []Info, ask []int) error {
	parts := f.batches(ask, func(i int) proto.Handle { return infos[i].Handle })
	return parallel(len(parts), listsAtOnce, func(p int) error {
		handles := make([]proto.Handle, len(parts[p]))
		epochs := make([]uint64, len(parts[p]))
		for j, i := range parts[p] {
			handles[j] = infos[i].Handle
			n := f.table.get(handles[j])
			epochs[j] = n.mark()
			f.put(n)
		}
		at := f.opt.Clock()
		return f.listAttr(ctx, dir, handles, proto.AttrListAttr, func(j int, a *proto.Attr) {
			infos[parts[p][j]].Attr = *a
			n := f.table.get(handles[j])
			n.learn(f.user, a, at, epochs[j])
			f.put(n)
		})
	})
}

// listAttr requests attributes of objects from one server, and calls got for those that exist. Strict servers want a capability.
// Any will do, so it sends the directory's. Stock servers accept none.
func (f *FS) listAttr(ctx context.Context, dir *inode, handles []proto.Handle, mask proto.AttrMask, got func(i int, a *proto.Attr)) error {
	req := &proto.ListAttrReq{FS: f.cfg.ID, Mask: mask, Handles: handles}
	var resp proto.ListAttrResp
	ask := func(h *proto.Header) error { return f.call(ctx, handles[0], h, req, &resp) }
	var err error
	strict := f.strict.Load()
	if !strict {
		err = ask(nil)
	}
	if strict || status(err) == proto.EACCES {
		err = f.shown(ctx, dir, 0, ask)
		f.strict.Store(err == nil)
	}
	if status(err) == proto.ENOENT {
		return nil // a stock server answers so if none of them exists
	}
	if err != nil {
		return err
	}
	if len(resp.Status) != len(handles) || len(resp.Attrs) != len(handles) {
		return proto.EPROTO
	}
	for i, s := range resp.Status {
		switch s {
		case proto.OK:
			got(i, &resp.Attrs[i])
		case proto.ENOENT:
		default:
			return s
		}
	}
	return nil
}

// A piece is an object that has a part of the description of an Info.
type piece struct {
	info   int
	handle proto.Handle
	attr   proto.Attr
}

// sizeAll adds the parts that other objects have: the sizes of files with several datafiles, and the times when entries of
// directories changed.
func (f *FS) sizeAll(ctx context.Context, dir *inode, infos []Info) error {
	var datafiles, dirdata []piece
	for i := range infos {
		info := &infos[i]
		switch a := &info.Attr; {
		case a.Type == proto.TypeDirectory:
			info.size = dirSize
			for _, h := range dirdatas(&a.DistDir) {
				dirdata = append(dirdata, piece{info: i, handle: h})
			}
		case a.Type == proto.TypeSymlink:
			info.size = int64(len(a.Target))
		case a.Type == proto.TypeMetafile && stuffed(a):
			info.size = int64(a.StuffedSize)
			fallthrough
		case a.Type == proto.TypeMetafile:
			n := f.table.get(info.Handle)
			size, ok := n.keptSize(f.opt.Clock(), f.opt.SizeTime)
			f.put(n)
			if ok {
				info.size = size
			} else if !stuffed(a) {
				for _, h := range a.Datafiles {
					datafiles = append(datafiles, piece{info: i, handle: h})
				}
			}
		}
	}
	if err := f.listPieces(ctx, dir, datafiles, proto.AttrDatafileSize); err != nil {
		return err
	}
	if err := f.listPieces(ctx, dir, dirdata, proto.AttrOfDirdata); err != nil {
		return err
	}
	byInfo(datafiles, func(i int, parts []piece) {
		sizes := make([]int64, len(parts))
		for k := range parts {
			sizes[k] = parts[k].attr.DatafileSize
		}
		if l, err := layoutOf(&inode{handle: infos[i].Handle}, &infos[i].Attr); err == nil {
			infos[i].size = l.place.Size(sizes)
		}
	})
	byInfo(dirdata, func(i int, parts []piece) {
		n := f.table.get(infos[i].Handle)
		defer f.put(n)
		last := int64(0)
		for k := range parts {
			last = max(last, parts[k].attr.MTime)
		}
		n.merge(&infos[i].Attr, last)
	})
	return nil
}

// listPieces requests the attributes of pieces. Those of missing objects stay empty.
func (f *FS) listPieces(ctx context.Context, dir *inode, pieces []piece, mask proto.AttrMask) error {
	ask := make([]int, len(pieces))
	for i := range ask {
		ask[i] = i
	}
	parts := f.batches(ask, func(i int) proto.Handle { return pieces[i].handle })
	return parallel(len(parts), listsAtOnce, func(p int) error {
		handles := make([]proto.Handle, len(parts[p]))
		for j, i := range parts[p] {
			handles[j] = pieces[i].handle
		}
		return f.listAttr(ctx, dir, handles, mask, func(j int, a *proto.Attr) { pieces[parts[p][j]].attr = *a })
	})
}

// byInfo calls do for the pieces of each info, which are adjacent.
func byInfo(pieces []piece, do func(info int, parts []piece)) {
	for len(pieces) > 0 {
		n := 1
		for n < len(pieces) && pieces[n].info == pieces[0].info {
			n++
		}
		do(pieces[0].info, pieces[:n])
		pieces = pieces[n:]
	}
}
