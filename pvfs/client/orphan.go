package client

import (
	"cmp"
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A right is the permission to remove objects: the capability of the directory that has, or had, the name.
type right struct {
	dir proto.Handle
	cap proto.Capability
}

// An orphan is an object whose name was removed while this client had it open. It is removed when its last file is closed.
type orphan struct {
	view *FS
	by   right
	typ  proto.ObjType
}

// rightOf is the right to remove objects of a directory; without a capability if none can be obtained.
func (f *FS) rightOf(ctx context.Context, dir *inode) right {
	c, _, _ := f.capability(ctx, dir) // the server will report the missing right
	return right{dir.handle, c}
}

// put gives a reference back. If it was the last and the name is gone, put removes the object.
func (f *FS) put(n *inode) {
	if o := f.table.put(n); o != nil {
		f.leftOver(n.handle, o.view.eradicate(context.Background(), o.by, n.handle, o.typ))
	}
}

// eradicate removes an object without a name, and a file's datafiles. A server of ours needs one request for that.
func (f *FS) eradicate(ctx context.Context, by right, h proto.Handle, typ proto.ObjType) error {
	return f.eradicateWith(ctx, by, h, typ, nil)
}

// eradicateWith is eradicate for a caller that may have requested the datafiles already.
func (f *FS) eradicateWith(ctx context.Context, by right, h proto.Handle, typ proto.ObjType, asked *question) error {
	if typ != proto.TypeMetafile {
		return f.destroy(ctx, by, h, nil)
	}
	if f.isOurs(h) {
		if datafiles, ok := f.datafilesKept(h); ok { // only used if another kind of server has the address now
			return f.destroy(ctx, by, h, datafiles)
		}
	}
	datafiles, err := asked.take()
	if err != nil {
		datafiles, err = f.askDatafiles(ctx, h, by.dir).take()
	}
	switch {
	case status(err) == proto.ENOENT:
		return nil
	case err != nil:
		return err
	}
	return f.destroy(ctx, by, h, datafiles)
}

// datafilesKept are the cached datafiles of a file.
func (f *FS) datafilesKept(h proto.Handle) ([]proto.Handle, bool) {
	n := f.table.get(h)
	defer f.put(n)
	return n.keptDatafiles()
}

// A question is a request for the datafiles of a file that is under way. Call take or drop on it. nil: there is no request.
type question struct {
	resp   proto.GetAttrResp
	answer func() error // nil: take was called
	enough context.CancelFunc
}

// askDatafiles requests the datafiles of a file. The cached ones are not enough, because another client may have unstuffed the
// file. It requests nothing else, because a stock server reads its database once more for each further attribute.
func (f *FS) askDatafiles(ctx context.Context, h, dir proto.Handle) *question {
	ctx, cancel := context.WithCancel(ctx)
	q := &question{enough: cancel}
	req := &proto.GetAttrReq{Handle: h, FS: f.cfg.ID, Mask: proto.AttrCommon | proto.AttrDatafiles, Cred: f.cred()}
	q.answer = f.beginCall(ctx, h, hinted(proto.Capability{}, dir), req, &q.resp)
	return q
}

var errNotAsked = errors.New("the datafiles were not asked for")

// take waits for the answer.
func (q *question) take() ([]proto.Handle, error) {
	if q == nil {
		return nil, errNotAsked
	}
	err := q.answer()
	q.answer = nil
	q.enough()
	return q.resp.Attr.Datafiles, err
}

// drop cancels a question whose answer was not taken.
func (q *question) drop() {
	if q.answer != nil {
		q.enough()
		_ = q.answer() // the answer is not needed
	}
}

// destroy removes an object and its datafiles. It ignores those that no longer exist. The object is removed first: a server of
// ours removes the datafiles with it. With a stock server and the right to remove, the client removes the datafiles itself; one
// request is enough if the object is on the server of the first datafile.
func (f *FS) destroy(ctx context.Context, by right, h proto.Handle, datafiles []proto.Handle) error {
	defer f.gone(h)
	if f.isOther(h) && len(datafiles) > 0 && by.cap.Mask&proto.MayRemove != 0 {
		if f.sameServer(h, datafiles[0]) && len(datafiles) < proto.MaxHandles {
			return f.removeTogether(ctx, by, append([]proto.Handle{h}, datafiles...))()
		}
		wait := f.removeTogether(ctx, by, datafiles)
		_, err := f.removeObject(ctx, by, h)
		return cmp.Or(wait(), err)
	}
	mark, err := f.removeObject(ctx, by, h)
	if err == nil && mark == proto.MarkNone {
		err = f.removeDatafiles(ctx, by, datafiles)
	}
	return err
}

// removeObject removes an object, and returns whether the server also removed its parts.
func (f *FS) removeObject(ctx context.Context, by right, h proto.Handle) (proto.RemovedMark, error) {
	req := &proto.RemoveReq{Handle: h, FS: f.cfg.ID, Cred: f.cred()}
	header := hinted(by.cap, by.dir)
	header.Hints = append(header.Hints, proto.RemovesHint(h))
	var resp proto.MarkedRemoveResp
	err := f.call(ctx, h, header, req, &resp)
	switch {
	case err == nil:
		f.heard(h, resp.Mark)
	case status(err) == proto.ENOENT && f.isOurs(h):
		return proto.MarkRemoved, nil
	case status(err) == proto.ENOENT:
		return proto.MarkNone, nil
	}
	return resp.Mark, err
}

// removeDatafiles removes datafiles.
func (f *FS) removeDatafiles(ctx context.Context, by right, datafiles []proto.Handle) error {
	if len(datafiles) == 0 {
		return nil
	}
	return f.removeTogether(ctx, by, datafiles)()
}

// removeTogether removes objects by one request to the server of the first one. The result waits for that, and must be called.
func (f *FS) removeTogether(ctx context.Context, by right, objects []proto.Handle) (wait func() error) {
	req := &proto.TreeRemoveReq{FS: f.cfg.ID, Cred: f.cred(), Handles: objects}
	var resp proto.TreeRemoveResp
	answer := f.beginCall(ctx, objects[0], hinted(by.cap, by.dir), req, &resp)
	return func() error {
		if err := answer(); err != nil && status(err) != proto.ENOENT {
			return err
		}
		var errs []error
		for _, s := range resp.Status {
			if s != proto.OK && s != proto.ENOENT {
				errs = append(errs, s)
			}
		}
		return errors.Join(errs...)
	}
}

// gone drops the cache of a removed object.
func (f *FS) gone(h proto.Handle) {
	n := f.table.get(h)
	n.changed()
	f.put(n)
}
