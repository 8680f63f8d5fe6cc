package client

import (
	"context"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Flags of SetXattr.
const (
	XattrCreate  = 1 // it must not exist
	XattrReplace = 2 // it must exist
)

const (
	xattrListAtOnce = proto.MaxXattrs
	xattrKeyRoom    = 256
	xattrsMax       = 4096 // names listed of one object, at most
)

// GetXattr is the value of an extended attribute. ENODATA: it does not exist.
func (f *FS) GetXattr(ctx context.Context, name, key string) (value []byte, err error) {
	err = f.onNode(ctx, name, follows, func(p *place) error {
		value, err = f.getXattr(ctx, p.node, key)
		return err
	})
	return value, pathError("getxattr", name, err)
}

func (f *FS) getXattr(ctx context.Context, n *inode, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	req := &proto.GetEattrReq{Handle: n.handle, FS: f.cfg.ID, Keys: []string{key}, Sizes: []int64{proto.MaxXattrValue}}
	var resp proto.GetEattrResp
	err := f.shown(ctx, n, 0, func(h *proto.Header) error { return f.call(ctx, n.handle, h, req, &resp) })
	if err == nil && (len(resp.Values) != 1 || len(resp.Errors) != 1) {
		err = proto.EPROTO
	}
	if err == nil && resp.Errors[0] != proto.OK {
		err = resp.Errors[0]
	}
	if status(err) == proto.ENOENT && f.there(ctx, n) {
		err = proto.ENODATA
	}
	if err != nil {
		return nil, err
	}
	return resp.Values[0], nil
}

// there reports whether an object still exists: servers return ENOENT for an attribute, too.
func (f *FS) there(ctx context.Context, n *inode) bool {
	_, err := f.attrs(ctx, n)
	return err == nil
}

// SetXattr sets an extended attribute. flags is 0, XattrCreate or XattrReplace. If two clients of a stock server create the same
// attribute at the same time, both may succeed, and one value is lost.
func (f *FS) SetXattr(ctx context.Context, name, key string, value []byte, flags int) error {
	return pathError("setxattr", name, f.onNode(ctx, name, follows, func(p *place) error {
		return f.setXattr(ctx, p.node, key, value, flags)
	}))
}

func (f *FS) setXattr(ctx context.Context, n *inode, key string, value []byte, flags int) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if len(value) > proto.MaxXattrValue {
		return proto.EMSGSIZE
	}
	// A stock server accepts the flag, but replaces the value nevertheless.
	if flags == XattrCreate && f.may(ctx, n, proto.MaySetAttr) == nil {
		if _, err := f.getXattr(ctx, n, key); err == nil {
			return proto.EEXIST
		}
	}
	err := f.shown(ctx, n, 0, func(h *proto.Header) error {
		req := &proto.SetEattrReq{
			Handle: n.handle, FS: f.cfg.ID, Flags: int32(flags), Keys: []string{key}, Values: [][]byte{value},
		}
		repeated, err := f.callTwice(ctx, n.handle, h, req, &proto.SetEattrResp{})
		if repeated && status(err) == proto.EEXIST {
			if now, wrong := f.getXattr(ctx, n, key); wrong == nil && string(now) == string(value) {
				return nil // the first try made it
			}
		}
		return err
	})
	if flags == XattrReplace && status(err) == proto.ENOENT && f.there(ctx, n) {
		err = proto.ENODATA
	}
	return err
}

// RemoveXattr removes an extended attribute. ENODATA: it does not exist.
func (f *FS) RemoveXattr(ctx context.Context, name, key string) error {
	return pathError("removexattr", name, f.onNode(ctx, name, follows, func(p *place) error {
		return f.removeXattr(ctx, p.node, key)
	}))
}

func (f *FS) removeXattr(ctx context.Context, n *inode, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	_, missing := f.getXattr(ctx, n, key) // if the request is repeated: did an earlier try remove the attribute?
	err := f.shown(ctx, n, 0, func(h *proto.Header) error {
		repeated, err := f.callTwice(ctx, n.handle, h, &proto.DelEattrReq{Handle: n.handle, FS: f.cfg.ID, Key: key}, &proto.DelEattrResp{})
		if s := status(err); repeated && missing == nil && (s == proto.ENOENT || s == proto.ENODATA) {
			return nil
		}
		return err
	})
	if status(err) == proto.ENOENT && f.there(ctx, n) {
		err = proto.ENODATA
	}
	return err
}

// ListXattr returns the names of the extended attributes, in the order of the server.
func (f *FS) ListXattr(ctx context.Context, name string) (keys []string, err error) {
	err = f.onNode(ctx, name, follows, func(p *place) error {
		keys, err = f.listXattr(ctx, p.node)
		return err
	})
	return keys, pathError("listxattr", name, err)
}

func (f *FS) listXattr(ctx context.Context, n *inode) (keys []string, err error) {
	room := make([]int64, xattrListAtOnce)
	for i := range room {
		room[i] = xattrKeyRoom
	}
	token := uint64(proto.TokenStart)
	for len(keys) < xattrsMax {
		var resp proto.ListEattrResp
		req := &proto.ListEattrReq{Handle: n.handle, FS: f.cfg.ID, Token: token, Sizes: room}
		if err := f.shown(ctx, n, 0, func(h *proto.Header) error { return f.call(ctx, n.handle, h, req, &resp) }); err != nil {
			return nil, err
		}
		keys = append(keys, resp.Keys...)
		if len(resp.Keys) == 0 || resp.Token == proto.TokenEnd || resp.Token == token {
			break
		}
		token = resp.Token
	}
	return keys, nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return proto.EINVAL
	case len(key) >= xattrKeyRoom:
		return proto.ERANGE
	}
	return nil
}
