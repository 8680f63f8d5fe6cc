package client

import (
	"context"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Space is the space of a file system.
type Space struct {
	Total, Available               int64  // bytes for files, over all servers
	HandlesTotal, HandlesAvailable uint64 // objects
	Servers                        []ServerSpace
}

// ServerSpace is the space and the state of one server.
type ServerSpace struct {
	Alias, Address string
	Err            error // it did not answer; the rest is zero
	proto.StatFSResp
}

// StatFS asks all servers for their space. It fails only if none answers; the sums are over those that did.
func (f *FS) StatFS(ctx context.Context) (*Space, error) {
	s := &Space{Servers: make([]ServerSpace, len(f.servers))}
	_ = all(len(f.servers), func(i int) error { // the errors are in the result
		one := &s.Servers[i]
		one.Alias, one.Address = f.servers[i].alias, f.servers[i].address
		_, one.Err = f.exchange(ctx, i, nil, &proto.StatFSReq{FS: f.cfg.ID}, &one.StatFSResp)
		return nil
	})
	var failed error
	answers := 0
	for i := range s.Servers {
		one := &s.Servers[i]
		if one.Err != nil {
			failed = one.Err
			continue
		}
		answers++
		if len(f.cfg.Servers[i].Data) > 0 {
			s.Total += one.BytesTotal
			s.Available += one.BytesAvailable
		}
		s.HandlesTotal += one.HandlesTotal
		s.HandlesAvailable += one.HandlesAvailable
	}
	if answers == 0 {
		return nil, pathError("statfs", "/", failed)
	}
	return s, nil
}

// Ping sends a request to every server. It returns an error for each, nil if the server answered.
func (f *FS) Ping(ctx context.Context) []error {
	errs := make([]error, len(f.servers))
	_ = all(len(f.servers), func(i int) error { // the errors are in the result
		errs[i] = f.send(ctx, i, nil, &proto.NoopReq{}, &proto.NoopResp{})
		return nil
	})
	return errs
}
