package client

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Scrub makes a server compare all its data with their checksums, at up to rate bytes a second; 0 is no limit. It returns at
// once. Only root may do this (EACCES), and only one scrub is under way at a time (EBUSY). ENOENT, EOPNOTSUPP: a stock server.
// server counts from 0, as in the configuration.
func (f *FS) Scrub(ctx context.Context, server int, rate int64) error {
	return f.orderScrub(ctx, server, proto.ScrubOrder{Rate: rate})
}

// StopScrub stops the scrub of a server.
func (f *FS) StopScrub(ctx context.Context, server int) error {
	return f.orderScrub(ctx, server, proto.ScrubOrder{Stop: true})
}

func (f *FS) orderScrub(ctx context.Context, server int, order proto.ScrubOrder) error {
	req := &proto.SetEattrReq{Handle: f.cfg.Root, FS: f.cfg.ID, Keys: []string{proto.ScrubKey}, Values: [][]byte{[]byte(order.String())}}
	return f.onServer(ctx, server, req, &proto.SetEattrResp{})
}

// ScrubReport returns the state of a server's scrub, or of the last one. It has the damaged places from number n on, counted from
// 0, at most one page of them.
func (f *FS) ScrubReport(ctx context.Context, server, n int) (r proto.ScrubReport, err error) {
	req := &proto.GetEattrReq{Handle: f.cfg.Root, FS: f.cfg.ID, Keys: []string{proto.ScrubFrom(n)}, Sizes: []int64{proto.MaxXattrValue}}
	var resp proto.GetEattrResp
	if err := f.onServer(ctx, server, req, &resp); err != nil {
		return r, err
	}
	if len(resp.Values) != 1 {
		return r, proto.EPROTO
	}
	return proto.ParseScrubReport(resp.Values[0])
}

// onServer calls a server, with the user's rights to the root directory.
func (f *FS) onServer(ctx context.Context, server int, req proto.Request, resp proto.Response) error {
	if server < 0 || server >= len(f.cfg.Servers) {
		return fmt.Errorf("pvfs: server %d of %d: %w", server, len(f.cfg.Servers), proto.EINVAL)
	}
	return f.onNode(ctx, "/", follows, func(p *place) error {
		return f.shown(ctx, p.node, 0, func(h *proto.Header) error {
			_, err := f.exchange(ctx, server, h, req, resp)
			return err
		})
	})
}

// NamesOf finds the paths of files and directories by their handles. It reads directories until it has found all, or has read the
// whole tree. Objects without a name are missing in the result.
func (f *FS) NamesOf(ctx context.Context, handles map[proto.Handle]bool) (map[proto.Handle]string, error) {
	names := make(map[proto.Handle]string, len(handles))
	if handles[f.cfg.Root] {
		names[f.cfg.Root] = "/"
	}
	for dirs := []string{"/"}; len(dirs) > 0 && len(names) < len(handles); {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		list, err := f.readInfos(ctx, dir, false)
		if err != nil {
			if ctx.Err() != nil {
				return names, ctx.Err()
			}
			continue // it may be gone, or damaged itself
		}
		for _, e := range list {
			name := path.Join(dir, e.name)
			if handles[e.handle] {
				names[e.handle] = name
			}
			if e.typ == fs.ModeDir {
				dirs = append(dirs, name)
			}
		}
	}
	return names, nil
}
