package client

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// do carries out one request.
func (k *fake) do(server int, h *proto.Header, req proto.Request, resp proto.Response) error {
	switch req := req.(type) {
	case *proto.LookupPathReq:
		return k.lookup(server, h, req, resp.(*proto.LookupPathResp))
	case *proto.GetAttrReq:
		o, err := k.get(server, req.Handle)
		if err == nil {
			resp.(*proto.GetAttrResp).Attr = k.attrOf(req.Handle, o, &req.Cred)
		}
		return err
	case *proto.ListAttrReq:
		return k.listAttr(server, req, resp.(*proto.ListAttrResp))
	case *proto.SetAttrReq:
		return k.setAttr(server, h, req)
	case *proto.CreateReq:
		return k.create(server, h, req, resp.(*proto.CreateResp))
	case *proto.MkdirReq:
		return k.mkdir(server, h, req, resp.(*proto.MkdirResp))
	case *proto.BatchCreateReq:
		if h.Capability.Mask&proto.MayCreate == 0 {
			return proto.EACCES
		}
		made := k.alloc(server)
		k.objects[made] = &fakeObject{attr: proto.Attr{Type: req.Type, Mask: proto.AttrCommon}}
		resp.(*proto.BatchCreateResp).Handles = []proto.Handle{made}
		return nil
	case *proto.RemoveReq:
		return k.remove(server, h, req, resp)
	case *proto.TreeRemoveReq:
		return k.treeRemove(h, req, resp.(*proto.TreeRemoveResp))
	case *proto.TreeGetFileSizeReq:
		r := resp.(*proto.TreeGetFileSizeResp)
		for _, d := range req.Handles {
			r.Sizes, r.Errors = append(r.Sizes, k.objects[d].size), append(r.Errors, 0)
		}
		return nil
	case *proto.TruncateReq:
		o, err := k.get(server, req.Handle)
		if err == nil {
			err = k.may(h, req.Handle, proto.MayWrite)
		}
		if err == nil {
			o.size = req.Size
		}
		return err
	case *proto.UnstuffReq:
		return k.unstuff(server, h, req, resp.(*proto.UnstuffResp))
	case *proto.SmallIOReq:
		o, err := k.get(server, req.Handle)
		if err == nil && req.Type != proto.IOWrite {
			err = proto.ENOSYS
		}
		if err == nil {
			o.size = max(o.size, req.FileOffset+req.Total) // of a file with one datafile
			*resp.(*proto.SmallIOResp) = proto.SmallIOResp{Type: req.Type, Size: o.size, Result: req.Total}
		}
		return err
	case *proto.FlushReq:
		_, err := k.get(server, req.Handle)
		return err
	case *proto.StatFSReq:
		*resp.(*proto.StatFSResp) = proto.StatFSResp{FS: 7, BytesTotal: 100, BytesAvailable: int64(10 + server)}
		return nil
	case *proto.NoopReq:
		return nil
	}
	return k.doNames(server, h, req, resp)
}

// doNames carries out requests about entries and extended attributes.
func (k *fake) doNames(server int, h *proto.Header, req proto.Request, resp proto.Response) error {
	switch req := req.(type) {
	case *proto.CrDirentReq:
		o, err := k.of(server, h, req.Dirdata, req.Name)
		if err == nil && o.entries[req.Name] != 0 {
			err = proto.EEXIST
		}
		if err == nil {
			o.entries[req.Name] = req.New
		}
		return err
	case *proto.RmDirentReq:
		o, err := k.of(server, h, req.Dirdata, req.Name)
		if err == nil && o.entries[req.Name] == 0 {
			err = proto.ENOENT
		}
		if err != nil {
			return err
		}
		was := o.entries[req.Name]
		delete(o.entries, req.Name)
		if r, ok := resp.(*proto.MarkedRmDirentResp); ok {
			*r = proto.MarkedRmDirentResp{Handle: was, Mark: k.removeMeant(server, h, was)}
			return nil
		}
		resp.(*proto.RmDirentResp).Handle = was
		return nil
	case *proto.ChDirentReq:
		o, err := k.of(server, h, req.Dirdata, req.Name)
		if err == nil && o.entries[req.Name] == 0 {
			err = proto.ENOENT
		}
		if err == nil {
			resp.(*proto.ChDirentResp).Old = o.entries[req.Name]
			o.entries[req.Name] = req.New
		}
		return err
	case *proto.ReadDirReq:
		return k.readDir(server, h, req, resp.(*proto.ReadDirResp))
	case *proto.SetEattrReq:
		o, err := k.get(server, req.Handle)
		if err == nil {
			err = k.may(h, req.Handle, proto.MaySetAttr)
		}
		if err != nil {
			return err
		}
		_, there := o.xattrs[req.Keys[0]]
		switch {
		case req.Flags == XattrCreate && there && !k.stock:
			return proto.EEXIST
		case req.Flags == XattrReplace && !there:
			return proto.ENODATA
		case o.xattrs == nil:
			o.xattrs = make(map[string]string)
		}
		o.xattrs[req.Keys[0]] = string(req.Values[0])
		return nil
	case *proto.GetEattrReq:
		r := resp.(*proto.GetEattrResp)
		v, ok := k.objects[req.Handle].xattrs[req.Keys[0]]
		r.Values, r.Errors = [][]byte{[]byte(v)}, []proto.Status{0}
		if !ok {
			r.Errors[0] = proto.ENODATA
		}
		return nil
	case *proto.DelEattrReq:
		o := k.objects[req.Handle]
		if _, ok := o.xattrs[req.Key]; !ok {
			return proto.ENODATA
		}
		delete(o.xattrs, req.Key)
		return nil
	case *proto.ListEattrReq:
		r := resp.(*proto.ListEattrResp)
		keys := slices.Sorted(maps.Keys(k.objects[req.Handle].xattrs))
		first := 0
		if req.Token != proto.TokenStart {
			first = int(req.Token)
		}
		last := min(first+len(req.Sizes), len(keys))
		r.Keys, r.Token = keys[first:last], uint64(last)
		if last == len(keys) {
			r.Token = proto.TokenEnd
		}
		return nil
	}
	panic(fmt.Sprintf("the fake does not know %T", req))
}

func (k *fake) lookup(server int, h *proto.Header, req *proto.LookupPathReq, resp *proto.LookupPathResp) error {
	at := req.Start
	if err := k.may(h, at, proto.MayExec); err != nil {
		return err
	}
	for i, name := range strings.Split(req.Path, "/") {
		o, err := k.get(server, at)
		if err != nil || o.attr.Type != proto.TypeDirectory {
			return nil // the part of the path on this server
		}
		b, _ := bucket(&o.attr.DistDir, name)
		at = k.objects[o.attr.DistDir.Dirdata[b]].entries[name]
		if at == 0 {
			if i == 0 {
				return proto.ENOENT
			}
			return nil
		}
		resp.Handles = append(resp.Handles, at)
		if found, err := k.get(server, at); err == nil {
			a := found.attr
			a.Mask &= proto.AttrCommon
			if k.ours && i == strings.Count(req.Path, "/") && a.Type != proto.TypeDirectory {
				a = k.attrOf(at, found, nil)
				a.Mask &= req.Mask | proto.AttrUnstuffed
			}
			resp.Attrs = append(resp.Attrs, a)
		} else {
			return nil
		}
	}
	return nil
}

func (k *fake) listAttr(server int, req *proto.ListAttrReq, resp *proto.ListAttrResp) error {
	for _, x := range req.Handles {
		o, err := k.get(server, x)
		if err != nil {
			resp.Status, resp.Attrs = append(resp.Status, err.(proto.Status)), append(resp.Attrs, proto.Attr{})
			continue
		}
		resp.Status, resp.Attrs = append(resp.Status, 0), append(resp.Attrs, k.attrOf(x, o, nil))
	}
	if k.stock && !slices.Contains(resp.Status, proto.OK) {
		return resp.Status[0]
	}
	return nil
}

func (k *fake) setAttr(server int, h *proto.Header, req *proto.SetAttrReq) error {
	o, err := k.get(server, req.Handle)
	if err != nil {
		return err
	}
	if err := k.may(h, req.Handle, proto.MaySetAttr); err != nil && o.attr.Owner != 0 {
		return err
	}
	from, m := req.Attr, req.Attr.Mask
	if m&proto.AttrUID != 0 {
		o.attr.Owner = from.Owner
	}
	if m&proto.AttrGID != 0 {
		o.attr.Group = from.Group
	}
	if m&proto.AttrPerm != 0 {
		o.attr.Perms = from.Perms
	}
	if m&proto.AttrMTimeSet != 0 {
		o.attr.MTime = from.MTime
	}
	if m&proto.AttrATimeSet != 0 {
		o.attr.ATime = from.ATime
	}
	if m&proto.AttrTarget != 0 {
		o.attr.Target = from.Target
	}
	return nil
}

func (k *fake) create(server int, h *proto.Header, req *proto.CreateReq, resp *proto.CreateResp) error {
	if err := k.may(h, hint(h), proto.MayCreate); err != nil {
		return err
	}
	made, data := k.alloc(server), k.alloc(server)+20000
	if req.Datafiles < 1 {
		return proto.EINVAL
	}
	k.objects[data] = &fakeObject{attr: proto.Attr{Type: proto.TypeDatafile, Mask: proto.AttrCommon}}
	a := req.Attr
	a.Mask = proto.AttrCommon | proto.AttrDatafiles
	a.Datafiles = []proto.Handle{data}
	k.objects[made] = &fakeObject{attr: a}
	resp.Handle, resp.Stuffed, resp.Attr = made, true, a
	resp.Attr.Dist = proto.Dist{}
	return nil
}

func (k *fake) mkdir(server int, h *proto.Header, req *proto.MkdirReq, resp *proto.MkdirResp) error {
	if err := k.may(h, hint(h), proto.MayCreate); err != nil {
		return err
	}
	resp.Handle = k.alloc(server)
	a := req.Attr
	a.Mask = proto.AttrCommon
	k.objects[resp.Handle] = &fakeObject{attr: a}
	k.spread(resp.Handle, server)
	return nil
}

// removeMeant removes the file of a removed name, if the request has the hint and the server knows it.
func (k *fake) removeMeant(server int, h *proto.Header, was proto.Handle) proto.RemovedMark {
	meant, _ := h.Hints.Removes()
	switch {
	case !k.ours:
		return proto.MarkNone
	case meant != was || k.server(was) != server && !k.leaves || k.objects[was].attr.Type == proto.TypeDirectory:
		return proto.MarkKept
	}
	k.drop(was)
	return proto.MarkRemoved
}

// drop removes an object with its datafiles.
func (k *fake) drop(h proto.Handle) {
	for _, d := range k.objects[h].attr.Datafiles {
		delete(k.objects, d)
	}
	delete(k.objects, h)
}

func (k *fake) remove(server int, h *proto.Header, req *proto.RemoveReq, resp proto.Response) error {
	o, err := k.get(server, req.Handle)
	if err == nil {
		err = k.may(h, hint(h), proto.MayRemove)
	}
	if err != nil {
		return err
	}
	for _, d := range o.attr.DistDir.Dirdata {
		if len(k.objects[d].entries) > 0 {
			return proto.ENOTEMPTY
		}
	}
	for _, d := range o.attr.DistDir.Dirdata {
		delete(k.objects, d)
	}
	if _, hinted := h.Hints.Removes(); hinted && k.ours {
		k.drop(req.Handle)
		resp.(*proto.MarkedRemoveResp).Mark = proto.MarkRemoved
	}
	delete(k.objects, req.Handle)
	return nil
}

func (k *fake) treeRemove(h *proto.Header, req *proto.TreeRemoveReq, resp *proto.TreeRemoveResp) error {
	if err := k.may(h, hint(h), proto.MayRemove); err != nil {
		return err
	}
	for _, d := range req.Handles {
		delete(k.objects, d)
		resp.Status = append(resp.Status, 0)
	}
	return nil
}

func (k *fake) unstuff(server int, h *proto.Header, req *proto.UnstuffReq, resp *proto.UnstuffResp) error {
	o, err := k.get(server, req.Handle)
	if err == nil {
		err = k.may(h, req.Handle, proto.MayWrite)
	}
	if err != nil {
		return err
	}
	if o.attr.Mask&proto.AttrUnstuffed == 0 {
		other := k.alloc(1-server) + 20000
		k.objects[other] = &fakeObject{attr: proto.Attr{Type: proto.TypeDatafile, Mask: proto.AttrCommon}}
		o.attr.Datafiles = append(slices.Clone(o.attr.Datafiles), other)
		o.attr.Mask |= proto.AttrUnstuffed
	}
	resp.Attr = k.attrOf(req.Handle, o, &req.Cred)
	return nil
}

// readDir returns three entries at a time.
func (k *fake) readDir(server int, h *proto.Header, req *proto.ReadDirReq, resp *proto.ReadDirResp) error {
	o, err := k.get(server, req.Dirdata)
	if err == nil {
		err = k.may(h, req.Dirdata, proto.MayRead)
	}
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(o.entries))
	first := 0
	if req.Token != proto.TokenStart {
		first = int(req.Token)
	}
	last := min(first+3, int(req.Count)+first, len(names))
	for _, name := range names[min(first, len(names)):last] {
		resp.Entries = append(resp.Entries, proto.DirEntry{Name: name, Handle: o.entries[name]})
	}
	resp.Token = uint64(last)
	if last == len(names) {
		resp.Token = proto.TokenEnd
	}
	return nil
}
