package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// How many datafiles of another server are kept in stock. The first are fetched when they are first needed.
const (
	poolFirst = 32  // of the first batch
	poolBatch = 512 // of later ones
	poolLow   = 128 // below which another is fetched in the background
	poolLoad  = proto.MaxHandles
)

// errPoolEmpty: the pools of some servers have too few handles. Fill them and try again.
var errPoolEmpty = errors.New("internal/pvfs/server: no datafile is ready")

// pools are the datafiles that other servers made in advance, by server. The handles are in the store's pools, so that one is
// taken in the transaction that uses it.
type pools struct {
	mu       sync.Mutex
	fetching map[int]bool // servers from which a batch is being fetched
	warm     map[int]bool // servers whose pool has been filled once: later batches are large
}

// poolName is the store's name of the pool of a server's datafiles.
func (s *Server) poolName(server int) string {
	return s.fs.Servers[server].Alias + ":" + strconv.Itoa(int(proto.TypeDatafile))
}

// takeDatafiles returns a new datafile on each of the servers, by index, in this order. It makes those of this server and takes
// the others from the pools. The error wraps errPoolEmpty if a pool has too few: then call fillPools and repeat the whole
// transaction. useDatafiles does all that.
func (s *Server) takeDatafiles(tx *store.Tx, servers []int, metafile proto.Handle) ([]proto.Handle, error) {
	handles := make([]proto.Handle, 0, len(servers))
	for _, server := range servers {
		if server == s.me {
			h, err := tx.Create(store.DataSpace, datafileOf(metafile))
			if err != nil {
				return nil, err
			}
			handles = append(handles, h)
			continue
		}
		taken, err := tx.PoolTake(s.poolName(server), 1)
		if err != nil {
			return nil, err
		}
		if len(taken) == 0 {
			return nil, errPoolEmpty
		}
		handles = append(handles, taken[0])
	}
	return handles, nil
}

// datafileOf is a new datafile of a metafile.
func datafileOf(metafile proto.Handle) store.Object {
	return store.Object{Attr: proto.Attr{Type: proto.TypeDatafile, Mask: proto.AttrType}, Parent: metafile}
}

// useDatafiles is Update for a change that takes datafiles of these servers by takeDatafiles. It fills the pools if necessary,
// and fetches more in the background when they run low.
func (s *Server) useDatafiles(ctx context.Context, servers []int, f func(*store.Tx) error) error {
	need := make(map[int]int)
	for _, server := range servers {
		if server != s.me {
			need[server]++
		}
	}
	const tries = 8 // other requests may take the fetched datafiles first
	for range tries {
		low := make(map[int]bool)
		err := s.store.Update(func(tx *store.Tx) error {
			clear(low)
			if err := f(tx); err != nil {
				return err
			}
			for server := range need {
				if n, err := tx.PoolLen(s.poolName(server)); err != nil {
					return err
				} else if n < poolLow {
					low[server] = true
				}
			}
			return nil
		})
		switch {
		case err == nil:
			for server := range low {
				s.startFetch(server)
			}
			return nil
		case !errors.Is(err, errPoolEmpty):
			return err
		}
		if err := s.fillPools(ctx, need); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %w", proto.EAGAIN, errPoolEmpty)
}

// fillPools makes sure that each server's pool has at least the number of handles in need.
func (s *Server) fillPools(ctx context.Context, need map[int]int) error {
	short := make(map[int]bool)
	err := s.store.View(func(tx *store.Tx) error {
		for server, n := range need {
			have, err := tx.PoolLen(s.poolName(server))
			if err != nil {
				return err
			}
			short[server] = have < n
		}
		return nil
	})
	if err != nil {
		return err
	}
	for server, is := range short {
		if !is {
			continue
		}
		// Fetch a few for this query with a call of its own. A handler that waited for another handler's call would hold a
		// worker, and two servers could wait for each other.
		s.startFetch(server)
		if err := s.fetchDatafiles(ctx, server, need[server]); err != nil {
			return err
		}
	}
	return nil
}

// startFetch fetches a batch of a server's datafiles in the background, unless that is under way.
func (s *Server) startFetch(server int) {
	p := &s.peers.pools
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fetching[server] || s.ctx.Err() != nil {
		return
	}
	if p.fetching == nil {
		p.fetching, p.warm = make(map[int]bool), make(map[int]bool)
	}
	p.fetching[server] = true
	count := poolFirst
	if p.warm[server] {
		count = poolBatch
	}
	s.work.Go(func() {
		err := s.fetchDatafiles(s.ctx, server, count)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fetching[server], p.warm[server] = false, err == nil
	})
}

// fetchDatafiles makes a server create datafiles and puts them into its pool. If this server ends between the two steps, fsck
// finds them.
func (s *Server) fetchDatafiles(ctx context.Context, server, count int) error {
	req := &proto.BatchCreateReq{
		FS: s.fs.ID, Type: proto.TypeDatafile, Count: uint32(min(count, poolLoad)),
		Extents: s.fs.Servers[server].Data,
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeMax)
	defer cancel()
	var resp proto.BatchCreateResp
	if err := s.call(ctx, server, &proto.Header{Capability: s.serverCapability()}, req, &resp); err != nil {
		return err
	}
	for _, h := range resp.Handles {
		if owner, ok := s.fs.Owner(h); !ok || owner != server || !s.fs.IsData(h) {
			return fmt.Errorf("internal/pvfs/server: %s made datafile %d, which is not its own: %w", s.fs.Servers[server].Alias, h, proto.EPROTO)
		}
	}
	if len(resp.Handles) == 0 {
		return fmt.Errorf("internal/pvfs/server: %s made no datafile: %w", s.fs.Servers[server].Alias, proto.ENOSPC)
	}
	return s.store.Update(func(tx *store.Tx) error { return tx.PoolPut(s.poolName(server), resp.Handles...) })
}

// leavePools throws away the handles in the pools after a power loss took this server back to an older state. Files that the
// server has lost may have used some of these datafiles, which then hold data of those files.
func (s *Server) leavePools() error {
	wentBack := false
	err := s.store.View(func(tx *store.Tx) error {
		wentBack = tx.WentBack()
		return nil
	})
	if err != nil || !wentBack {
		return err
	}
	s.log.Warn("a power loss took this server back to its last sync: it removes the datafiles that other servers had prepared for it")
	return s.store.Update(func(tx *store.Tx) error {
		ready := map[string]int{}
		for pool := range tx.Pools() {
			ready[pool]++
		}
		for pool, n := range ready {
			handles, err := tx.PoolTake(pool, n)
			if err != nil {
				return err
			}
			if err := s.throwAway(tx, handles); err != nil {
				return err
			}
		}
		return tx.ForgetWentBack()
	})
}
