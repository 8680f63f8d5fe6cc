package client

import (
	"context"
	"fmt"
	"strconv"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// located adds the server to an EIO of a datafile, and the offset of the damage in the datafile if the server found any.
func (f *FS) located(ctx context.Context, h *proto.Header, datafile proto.Handle, err error) error {
	if err == nil || status(err) != proto.EIO {
		return err
	}
	server, unknown := f.owner(datafile)
	if unknown != nil {
		return err
	}
	alias := f.cfg.Servers[server].Alias
	req := &proto.GetEattrReq{Handle: datafile, FS: f.cfg.ID, Keys: []string{proto.DamageKey}, Sizes: []int64{proto.MaxXattrValue}}
	var resp proto.GetEattrResp
	if f.call(ctx, datafile, h, req, &resp) == nil && len(resp.Values) == 1 {
		if at, bad := strconv.ParseInt(string(resp.Values[0]), 10, 64); bad == nil && at >= 0 {
			return fmt.Errorf("server %s: datafile %d is damaged at byte %d, the bytes there are not those that were written: %w", alias, datafile, at, err)
		}
	}
	return fmt.Errorf("server %s: datafile %d: %w", alias, datafile, err)
}
