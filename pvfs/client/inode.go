package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// An inode is the cache of one object. There is one for each handle in use, so that all users of this client see its own changes.
type inode struct {
	handle proto.Handle
	refs   int     // by open files and operations in progress; protected by the table's lock
	orphan *orphan // the name is gone, the object is removed with the last reference; the table's
	// claimed is closed when it is known whether the object was removed with its name; nil: no removal is under way. The table's.
	claimed chan struct{}

	appending sync.Mutex // held during a write at the end

	changes *atomic.Uint64 // counts changes of all inodes; the table's

	mu     sync.Mutex
	epoch  uint64 // of the last change: answers to requests sent before it are not cached
	attr   proto.Attr
	at     time.Time // when attr was requested; zero: not cached
	times  bool      // the times in attr are current
	size   int64
	sizeAt time.Time // when size was requested; zero: not cached
	grants []grant   // at most one for each user, the oldest first
	holds  []hold
	// unstamped: the data changed after mtime was last set.
	unstamped bool

	// Of a directory: when its entries last changed, by the servers of the dirdata objects, and whether this client has changed
	// any since it last set the directory's times.
	entries   int64
	entriesAt time.Time // when that was requested; zero: not cached
	moved     bool
}

// A grant is a capability as it was issued to a user.
type grant struct {
	user *user
	cap  proto.Capability
	at   time.Time
}

// whole reports whether these are all attributes of an object, not only the common ones.
func whole(a *proto.Attr) bool {
	switch a.Type {
	case proto.TypeMetafile:
		return a.Mask&(proto.AttrDist|proto.AttrDatafiles) == proto.AttrDist|proto.AttrDatafiles
	case proto.TypeDirectory:
		return a.Mask&proto.AttrDistDir != 0
	case proto.TypeSymlink:
		return a.Mask&proto.AttrTarget != 0
	}
	return true
}

// mark is the inode's epoch. Pass it to learn with the answer to a request sent after this call.
func (n *inode) mark() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.epoch
}

// learnFound caches the attributes of a file or symlink from a lookup, if they are complete. since is the count of changes when
// the lookup was sent: the object was not known then, so it has no epoch.
func (n *inode) learnFound(u *user, a *proto.Attr, at time.Time, since uint64) {
	if a.Type != proto.TypeMetafile && a.Type != proto.TypeSymlink || !whole(a) {
		return
	}
	if epoch := n.mark(); epoch <= since {
		n.learn(u, a, at, epoch)
	}
}

// learn caches attributes that a server returned. at and epoch are from when they were requested.
func (n *inode) learn(u *user, a *proto.Attr, at time.Time, epoch uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch != n.epoch {
		return
	}
	if a.Mask&proto.AttrCapability != 0 {
		n.grantLocked(u, a.Capability, at)
	}
	if !whole(a) {
		if n.at.IsZero() || n.attr.Type != a.Type {
			return
		}
		n.attr.Owner, n.attr.Group, n.attr.Perms = a.Owner, a.Group, a.Perms
		n.attr.ATime, n.attr.MTime, n.attr.CTime = a.ATime, a.MTime, a.CTime
		n.times = true
		return
	}
	n.attr, n.at, n.times = *a, at, true
	n.attr.Capability = proto.Capability{}
	n.attr.Mask &^= proto.AttrCapability
	if stuffed(a) {
		n.size, n.sizeAt = max(int64(a.StuffedSize), 0), at
	}
}

func (n *inode) grantLocked(u *user, c proto.Capability, at time.Time) {
	n.grants = slices.DeleteFunc(n.grants, func(g grant) bool { return g.user.is(u) || !g.cap.Timeout.After(at) })
	if len(n.grants) >= grantsKeptMax {
		n.grants = slices.Delete(n.grants, 0, len(n.grants)/4) // the oldest; several at once, so that this is rare
	}
	n.grants = append(n.grants, grant{u, c, at})
}

// changed drops all cached data: this client changed the object, or the object is another one than expected.
func (n *inode) changed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.epoch = n.changes.Add(1)
	n.at, n.sizeAt, n.entriesAt, n.grants = time.Time{}, time.Time{}, time.Time{}, nil
}

// touched drops the times: an entry of the directory or a byte of the file changed.
func (n *inode) touched() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.epoch = n.changes.Add(1)
	n.times, n.entriesAt = false, time.Time{}
}

// resized drops the size and the times: the file was written or truncated.
func (n *inode) resized() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.epoch = n.changes.Add(1)
	n.times, n.sizeAt = false, time.Time{}
}

// disown drops the capabilities.
func (n *inode) disown() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.epoch = n.changes.Add(1)
	n.grants = nil
}

// kept returns the cached attributes if they are not older than age and, if times is set, have current times.
func (n *inode) kept(now time.Time, age time.Duration, times bool) (proto.Attr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ok := !n.at.IsZero() && now.Sub(n.at) < age && (n.times || !times)
	return n.attr, ok
}

// keptDatafiles returns the cached datafiles of a file, of any age.
func (n *inode) keptDatafiles() ([]proto.Handle, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.attr.Datafiles, !n.at.IsZero() && n.attr.Type == proto.TypeMetafile
}

// keptSize returns the cached size if it is not older than age.
func (n *inode) keptSize(now time.Time, age time.Duration) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.size, !n.sizeAt.IsZero() && now.Sub(n.sizeAt) < age
}

// learnSize caches a size.
func (n *inode) learnSize(size int64, at time.Time, epoch uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch == n.epoch {
		n.size, n.sizeAt = size, at
	}
}

// grant returns a capability that was issued to u at most age ago and has not expired.
func (n *inode) grant(u *user, now time.Time, age time.Duration) (proto.Capability, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range n.grants {
		if g.user.is(u) && now.Sub(g.at) < age && g.cap.Timeout.Sub(now) > grantMargin {
			return g.cap, true
		}
	}
	return proto.Capability{}, false
}

// stuffed reports whether a metafile is stuffed: all bytes are in one datafile until it is unstuffed.
func stuffed(a *proto.Attr) bool {
	return a.Type == proto.TypeMetafile && a.Mask&proto.AttrUnstuffed == 0
}

// fetch requests all attributes of an object and a capability.
func (f *FS) fetch(ctx context.Context, n *inode) (proto.Attr, error) {
	epoch, at := n.mark(), f.opt.Clock()
	req := &proto.GetAttrReq{Handle: n.handle, FS: f.cfg.ID, Mask: proto.AttrStat, Cred: f.cred()}
	var resp proto.GetAttrResp
	if err := f.call(ctx, n.handle, hinted(proto.Capability{}, n.handle), req, &resp); err != nil {
		if status(err) == proto.ENOENT {
			n.changed()
		}
		return proto.Attr{}, err
	}
	n.learn(f.user, &resp.Attr, at, epoch)
	return resp.Attr, nil
}

// attrs returns the attributes of an object, from the cache or the server.
func (f *FS) attrs(ctx context.Context, n *inode) (proto.Attr, error) {
	if a, ok := n.kept(f.opt.Clock(), f.opt.AttrTime, false); ok {
		return a, nil
	}
	return f.fetch(ctx, n)
}

// capability returns a capability of the view's user for an object. fresh: it was requested now.
func (f *FS) capability(ctx context.Context, n *inode) (c proto.Capability, fresh bool, err error) {
	if c, ok := n.grant(f.user, f.opt.Clock(), f.opt.AttrTime); ok {
		return c, false, nil
	}
	a, err := f.fetch(ctx, n)
	if err != nil {
		return proto.Capability{}, true, err
	}
	return a.Capability, true, nil
}

// voidMax is how many fresh capabilities in a row may be void, because rights to the object are being withdrawn.
const voidMax = 3

// shown runs an operation that needs a capability of an object. If the capability is refused and is not fresh, it tries again
// with a new one. It checks first that the capability has the rights in need. The rights of an open file stay allowed, see
// held.go.
func (f *FS) shown(ctx context.Context, n *inode, need proto.OpMask, do func(h *proto.Header) error) error {
	for try := 0; ; try++ {
		c, fresh, err := f.capability(ctx, n)
		if err != nil {
			return err
		}
		if c.Mask&need == need {
			err = do(hinted(c, n.handle))
		} else {
			err = proto.EACCES
		}
		s := status(err)
		if s != proto.EACCES && s != proto.EAGAIN && s != proto.EPERM {
			return err
		}
		if held, ok := n.heldFor(f.user, need, f.opt.Clock()); ok && s == proto.EACCES {
			if err = f.doHeld(ctx, n, need, held, do); status(err) != proto.EAGAIN {
				return err
			}
			err, s = proto.EACCES, proto.EACCES // it is void by now
		}
		if fresh && s == proto.EPERM && need&^proto.MaySetAttr != 0 {
			return fmt.Errorf("%w: %w", err, errOtherKey)
		}
		if fresh && (s != proto.EAGAIN || try >= voidMax) {
			return err
		}
		n.disown()
	}
}

// doHeld runs an operation with a capability from the time of the open. If that does not list a datafile that the file got since,
// it asks for one that does. EAGAIN: it is void.
func (f *FS) doHeld(ctx context.Context, n *inode, need proto.OpMask, held proto.Capability, do func(h *proto.Header) error) error {
	err := do(hinted(held, n.handle))
	if status(err) == proto.EACCES {
		if again, ok := f.holdOpen(ctx, n, need, held); ok {
			err = do(hinted(again, n.handle))
		}
	}
	return err
}

// may fails with EACCES if the view's user does not have all rights in need now.
func (f *FS) may(ctx context.Context, n *inode, need proto.OpMask) error {
	for {
		c, fresh, err := f.capability(ctx, n)
		if err != nil {
			return err
		}
		if c.Mask&need == need {
			return nil
		}
		if fresh {
			return proto.EACCES
		}
		n.disown()
	}
}

// A layout says where the bytes of a file are.
type layout struct {
	dist      proto.Dist
	place     stripe.Map
	datafiles []proto.Handle
	// stuffed: there is one datafile, which may only have bytes of the first strip until the file is unstuffed.
	stuffed bool
}

// layoutOf is the layout in attributes, after checks.
func layoutOf(n *inode, a *proto.Attr) (layout, error) {
	switch {
	case a.Type == proto.TypeDirectory:
		return layout{}, proto.EISDIR
	case a.Type != proto.TypeMetafile || len(a.Datafiles) == 0:
		return layout{}, fmt.Errorf("object %d has no bytes: %w", n.handle, proto.EINVAL)
	}
	m, err := stripe.Of(a.Dist)
	if err == nil {
		err = m.Check(len(a.Datafiles))
	}
	if err != nil {
		return layout{}, fmt.Errorf("file %d: %w: %w", n.handle, proto.EIO, err)
	}
	return layout{a.Dist, m, a.Datafiles, stuffed(a)}, nil
}

// layout returns the layout of a file, from the cache or the server.
func (f *FS) layout(ctx context.Context, n *inode) (layout, error) {
	a, err := f.attrs(ctx, n)
	if err != nil {
		return layout{}, err
	}
	return layoutOf(n, &a)
}

// unstuff gives a stuffed file its other datafiles.
func (f *FS) unstuff(ctx context.Context, n *inode) (layout, error) {
	var resp proto.UnstuffResp
	at := f.opt.Clock()
	err := f.shown(ctx, n, proto.MayWrite, func(h *proto.Header) error {
		req := &proto.UnstuffReq{Handle: n.handle, FS: f.cfg.ID, Mask: proto.AttrUnstuff, Cred: f.cred()}
		return f.call(ctx, n.handle, h, req, &resp)
	})
	if err != nil {
		return layout{}, err
	}
	n.changed()
	if a := &resp.Attr; whole(a) && a.Mask&proto.AttrCommon == proto.AttrCommon {
		n.learn(f.user, a, at, n.mark())
	}
	return layoutOf(n, &resp.Attr)
}

// fetchSize requests the size of a file.
func (f *FS) fetchSize(ctx context.Context, n *inode) (int64, error) {
	a, ok := n.kept(f.opt.Clock(), f.opt.AttrTime, false)
	if !ok || stuffed(&a) {
		var err error
		if a, err = f.fetch(ctx, n); err != nil {
			return 0, err
		}
	}
	return f.sizeBy(ctx, n, &a)
}

// sizeBy returns the size of a file whose attributes were just requested. The size is in the attributes, or the servers of the
// datafiles are asked for it.
func (f *FS) sizeBy(ctx context.Context, n *inode, a *proto.Attr) (int64, error) {
	l, err := layoutOf(n, a)
	if err != nil {
		return 0, err
	}
	if l.stuffed {
		return max(int64(a.StuffedSize), 0), nil
	}
	epoch, at := n.mark(), f.opt.Clock()
	sizes, err := f.datafileSizes(ctx, l.datafiles)
	if err != nil {
		return 0, err
	}
	size := l.place.Size(sizes)
	n.learnSize(size, at, epoch)
	return size, nil
}

// datafileSizes requests the sizes of datafiles. It tries again while the server that it asks cannot reach another one.
func (f *FS) datafileSizes(ctx context.Context, datafiles []proto.Handle) ([]int64, error) {
	sizes, away, err := f.askSizes(ctx, datafiles)
	for try := 0; away && try < f.retryLimit; try++ {
		f.opt.Log.Warn("pvfs: a server did not answer another one, trying again", "error", err)
		if stop := f.pause(ctx, f.retryDelay); stop != nil {
			break
		}
		sizes, away, err = f.askSizes(ctx, datafiles)
	}
	return sizes, err
}

// askSizes requests them once. away: the server that was asked could not reach another one.
func (f *FS) askSizes(ctx context.Context, datafiles []proto.Handle) (sizes []int64, away bool, err error) {
	req := &proto.TreeGetFileSizeReq{FS: f.cfg.ID, Cred: f.cred(), Handles: datafiles}
	var resp proto.TreeGetFileSizeResp
	if err := f.call(ctx, datafiles[0], nil, req, &resp); err != nil {
		return nil, false, err
	}
	if len(resp.Sizes) != len(datafiles) || len(resp.Errors) != len(datafiles) {
		return nil, false, proto.EPROTO
	}
	for i, s := range resp.Errors {
		if s != proto.OK {
			return nil, passing(s), s
		}
		if resp.Sizes[i] < 0 {
			return nil, false, proto.EPROTO
		}
	}
	return resp.Sizes, false, nil
}
