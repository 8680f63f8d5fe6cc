package client

import (
	"context"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The time at which a directory's entries changed is with its dirdata objects, its attributes are with itself. The
// later of the two counts, except that a time that was set stays until an entry changes after that. Servers
// tell whole seconds: within one, only what this client did itself is in order.

// setMoved notes whether an entry was changed since the times of a directory were set.
func (n *inode) setMoved(moved bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moved = moved
}

// learnEntries takes over when the entries of a directory were changed.
func (n *inode) learnEntries(last int64, at time.Time, epoch uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch == n.epoch {
		n.entries, n.entriesAt = last, at
	}
}

// keptEntries gives that if it is young enough.
func (n *inode) keptEntries(now time.Time, age time.Duration) (last int64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.entries, !n.entriesAt.IsZero() && now.Sub(n.entriesAt) < age
}

// merge puts the time of the last change of an entry into the attributes of a directory.
func (n *inode) merge(a *proto.Attr, last int64) {
	n.mu.Lock()
	moved := n.moved
	n.mu.Unlock()
	if last > 0 && (moved || last > a.CTime) {
		a.MTime, a.CTime = last, max(a.CTime, last)
	}
}

// entriesChanged is when the entries of a directory were changed last, as kept or asked for.
func (f *FS) entriesChanged(ctx context.Context, n *inode, a *proto.Attr) (int64, error) {
	now := f.opt.Clock()
	if last, ok := n.keptEntries(now, f.opt.AttrTime); ok {
		return last, nil
	}
	epoch := n.mark()
	parts := dirdatas(&a.DistDir)
	times := make([]int64, len(parts))
	err := all(len(parts), func(i int) error {
		req := &proto.GetAttrReq{Handle: parts[i], FS: f.cfg.ID, Mask: proto.AttrOfDirdata, Cred: f.cred()}
		var resp proto.GetAttrResp
		err := f.call(ctx, parts[i], hinted(proto.Capability{}, n.handle), req, &resp)
		times[i] = resp.Attr.MTime
		return err
	})
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, t := range times {
		last = max(last, t)
	}
	n.learnEntries(last, now, epoch)
	return last, nil
}
