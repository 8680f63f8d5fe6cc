package client

import (
	"context"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A directory's dirdata objects have the times when its entries changed, and the directory itself has its attributes. The later
// time counts. But a time that was set stays until an entry changes after that. Servers return whole seconds. Within one second,
// only this client's own changes are in order.

// setMoved records whether an entry has changed since the times of a directory were set.
func (n *inode) setMoved(moved bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moved = moved
}

// learnEntries caches when the entries of a directory changed.
func (n *inode) learnEntries(last int64, at time.Time, epoch uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch == n.epoch {
		n.entries, n.entriesAt = last, at
	}
}

// keptEntries returns the cached time, if it is not older than age.
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

// entriesChanged returns when the entries of a directory last changed, from the cache or the servers.
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
