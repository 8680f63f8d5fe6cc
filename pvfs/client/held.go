package client

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The rights to an open file are decided when it is opened. A later change of its mode affects only later opens. Servers do not
// know which files are open. So the client keeps the capability from the time of the open, beside the newest one, while the file
// is open and the capability is valid. If servers sign, a withdrawal of rights voids the capabilities of other users than the
// owner, except those issued for open files. A mount that changes a mode asks for these first. Root needs none of this.

// A hold is what a user has opened an object for. There is one per user and rights.
type hold struct {
	user   *user
	rights proto.OpMask
	files  int              // number of open files; > 0
	cap    proto.Capability // has these rights; empty until it is needed
	open   bool             // cap was issued for an open file
}

// rightsOf are the rights that the flags of an open need.
func rightsOf(flag int) proto.OpMask {
	rights := proto.MayRead
	switch {
	case flag&os.O_RDWR != 0:
		rights |= proto.MayWrite
	case flag&os.O_WRONLY != 0:
		rights = proto.MayWrite
	}
	return rights
}

// takeHold records that the view's user has opened an object, until dropHold.
func (f *FS) takeHold(n *inode, rights proto.OpMask) {
	if f.user.id.UID == 0 && !f.user.certified() {
		return
	}
	n.mu.Lock()
	i := n.holdLocked(f.user, rights)
	if i < 0 {
		i = len(n.holds)
		n.holds = append(n.holds, hold{user: f.user, rights: rights})
	}
	n.holds[i].files++
	n.mu.Unlock()
	f.keepHold(n, rights)
}

// dropHold records that the view's user has closed the object.
func (f *FS) dropHold(n *inode, rights proto.OpMask) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.holdLocked(f.user, rights)
	if i < 0 {
		return // root has none
	}
	if n.holds[i].files--; n.holds[i].files == 0 {
		n.holds = slices.Delete(n.holds, i, i+1)
	}
}

// holdLocked is the index of the hold of a user with these rights; -1: there is none.
func (n *inode) holdLocked(u *user, rights proto.OpMask) int {
	return slices.IndexFunc(n.holds, func(h hold) bool { return h.rights == rights && h.user.is(u) })
}

// keepHold stores the present capability in the hold of the view's user.
func (f *FS) keepHold(n *inode, rights proto.OpMask) {
	c, ok := n.grant(f.user, f.opt.Clock(), f.opt.AttrTime)
	if !ok || c.Mask&rights != rights {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := n.holdLocked(f.user, rights); i >= 0 && !n.holds[i].open {
		n.holds[i].cap = c
	}
}

// holdOpen gets a capability for an open file and stores it in the holds of the view's user. It has the user's present rights or
// those of held, and the file's present datafiles. It reports whether the capability has the rights.
func (f *FS) holdOpen(ctx context.Context, n *inode, rights proto.OpMask, held proto.Capability) (proto.Capability, bool) {
	h := hinted(held, n.handle)
	h.Hints = append(h.Hints, proto.OpensHint())
	req := &proto.GetAttrReq{Handle: n.handle, FS: f.cfg.ID, Mask: proto.AttrStat, Cred: f.cred()}
	var resp proto.GetAttrResp
	if err := f.call(ctx, n.handle, h, req, &resp); err != nil {
		return proto.Capability{}, false
	}
	c := resp.Attr.Capability
	if c.Mask&rights != rights {
		return c, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.holds {
		if h := &n.holds[i]; h.user.is(f.user) && c.Mask&h.rights == h.rights {
			h.cap, h.open = c, true
		}
	}
	return c, true
}

// heldFor is a capability that a user got at an open, and that has the rights in need.
func (n *inode) heldFor(u *user, need proto.OpMask, now time.Time) (proto.Capability, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.holds {
		if h.user.is(u) && need != 0 && need&^h.rights == 0 && h.cap.Timeout.After(now) {
			return h.cap, true
		}
	}
	return proto.Capability{}, false
}

// hold gets capabilities for open files for all users that have the object open. It is called before the mode or the owner
// (given) is changed. The owner's capability stays valid anyway.
func (f *FS) hold(ctx context.Context, n *inode, given bool) {
	a, known := n.kept(f.opt.Clock(), f.opt.AttrTime, false)
	n.mu.Lock()
	holds := slices.Clone(n.holds)
	n.mu.Unlock()
	for _, h := range holds {
		if h.open || h.cap.Mask != 0 && known && !given && !h.user.certified() && h.user.id.UID == a.Owner {
			continue
		}
		view := &FS{core: f.core, user: h.user, ctx: ctx}
		view.holdOpen(ctx, n, h.rights, proto.Capability{})
	}
}

// createFor makes a file and opens it. The mode applies to later opens: the creator may use the file as it asked even if the mode
// does not allow that.
func (f *FS) createFor(ctx context.Context, p *place, flag int, perm fs.FileMode, how Striping) (*inode, error) {
	rights := rightsOf(flag)
	owner := fs.FileMode(0)
	if rights&proto.MayRead != 0 {
		owner |= 0o400
	}
	if rights&proto.MayWrite != 0 {
		owner |= 0o200
	}
	n, err := f.create(ctx, p.dir(), p.name, perm|owner, how)
	if err != nil {
		return nil, err
	}
	f.takeHold(n, rights)
	if perm|owner != perm {
		if err := f.setAttr(ctx, n, chmodAttr(perm)); err != nil {
			f.dropHold(n, rights)
			f.put(n)
			return nil, err
		}
	}
	return n, nil
}
