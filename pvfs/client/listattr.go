package client

import (
	"context"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// describeAll finds what entries of a directory are, by few requests: what is kept is not asked for.
// With sizes the entries have their Info, but for those whose objects are gone.
func (f *FS) describeAll(ctx context.Context, entries []proto.DirEntry, sizes bool) ([]*dirEntry, error) {
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
	if err := f.listAll(ctx, infos, ask); err != nil {
		return nil, err
	}
	for i := range infos {
		list[i].typ = typeOf(infos[i].Attr.Type)
	}
	if !sizes {
		return list, nil
	}
	if err := f.sizeAll(ctx, infos); err != nil {
		return nil, err
	}
	for i := range infos {
		if infos[i].Attr.Type != proto.TypeNone {
			list[i].info = &infos[i]
		}
	}
	return list, nil
}

// batches divides what is at some indices by server, and so that each part fits a request.
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

// listAll asks for the attributes of the infos with some indices. Those of objects that are gone stay empty.
func (f *FS) listAll(ctx context.Context, infos []Info, ask []int) error {
	parts := f.batches(ask, func(i int) proto.Handle { return infos[i].Handle })
	return each(len(parts), listsAtOnce, func(p int) error {
		handles := make([]proto.Handle, len(parts[p]))
		epochs := make([]uint64, len(parts[p]))
		for j, i := range parts[p] {
			handles[j] = infos[i].Handle
			n := f.table.get(handles[j])
			epochs[j] = n.mark()
			f.put(n)
		}
		at := f.opt.Clock()
		return f.listAttr(ctx, handles, proto.AttrListAttr, func(j int, a *proto.Attr) {
			infos[parts[p][j]].Attr = *a
			n := f.table.get(handles[j])
			n.learn(f.user, a, at, epochs[j])
			f.put(n)
		})
	})
}

// listAttr asks one server for attributes of objects and hands over those that are there.
func (f *FS) listAttr(ctx context.Context, handles []proto.Handle, mask proto.AttrMask, got func(i int, a *proto.Attr)) error {
	req := &proto.ListAttrReq{FS: f.cfg.ID, Mask: mask, Handles: handles}
	var resp proto.ListAttrResp
	if err := f.call(ctx, handles[0], nil, req, &resp); err != nil {
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

// sizeAll fills in the sizes: those of files with several datafiles from the sizes of these.
func (f *FS) sizeAll(ctx context.Context, infos []Info) error {
	now := f.opt.Clock()
	type piece struct {
		info, index int
		handle      proto.Handle
	}
	var pieces []piece
	var ask []int
	for i := range infos {
		info := &infos[i]
		switch {
		case info.Attr.Type == proto.TypeDirectory:
			info.size = dirSize
		case info.Attr.Type == proto.TypeSymlink:
			info.size = int64(len(info.Attr.Target))
		case info.Attr.Type == proto.TypeMetafile:
			n := f.table.get(info.Handle)
			size, ok := n.keptSize(now, f.opt.SizeTime)
			f.put(n)
			if info.size = size; ok {
				continue
			}
			if info.size = int64(info.Attr.StuffedSize); stuffed(&info.Attr) {
				continue
			}
			for k, h := range info.Attr.Datafiles {
				ask = append(ask, len(pieces))
				pieces = append(pieces, piece{i, k, h})
			}
		}
	}
	sizes := make([]int64, len(pieces))
	parts := f.batches(ask, func(i int) proto.Handle { return pieces[i].handle })
	err := each(len(parts), listsAtOnce, func(p int) error {
		handles := make([]proto.Handle, len(parts[p]))
		for j, i := range parts[p] {
			handles[j] = pieces[i].handle
		}
		return f.listAttr(ctx, handles, proto.AttrDatafileSize, func(j int, a *proto.Attr) {
			sizes[parts[p][j]] = a.DatafileSize
		})
	})
	if err != nil {
		return err
	}
	for first := 0; first < len(pieces); {
		info := &infos[pieces[first].info]
		n := len(info.Attr.Datafiles)
		if l, err := layoutOf(&inode{handle: info.Handle}, &info.Attr); err == nil {
			info.size = l.place.Size(sizes[first : first+n])
		}
		first += n
	}
	return nil
}
