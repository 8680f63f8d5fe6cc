package server

import (
	"context"
	"strconv"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// scrubFoundMax is how many damaged places of one scrub are kept. Further ones are only counted.
const scrubFoundMax = 1 << 16

// scrub is the last scrub that an administrator started.
type scrub struct {
	mu     sync.Mutex
	report proto.ScrubReport // without Damage
	damage []proto.ScrubDamage
	stop   context.CancelFunc // not nil while it runs
}

// isScrubOrder reports whether a request is one to start or stop a scrub.
func isScrubOrder(req *proto.SetEattrReq) bool {
	return len(req.Keys) == 1 && req.Keys[0] == proto.ScrubKey && len(req.Values) == 1
}

// orderScrub starts or stops a scrub (proto.ScrubKey). EBUSY: another scrub runs.
func (s *Server) orderScrub(text []byte) (*proto.SetEattrResp, error) {
	order, err := proto.ParseScrubOrder(string(text))
	if err != nil {
		return nil, err
	}
	sc := &s.scrub
	sc.mu.Lock()
	defer sc.mu.Unlock()
	switch {
	case order.Stop && sc.stop != nil:
		sc.stop()
	case order.Stop:
	case sc.stop != nil:
		return nil, proto.EBUSY
	default:
		s.beginScrubLocked(order.Rate)
	}
	return &proto.SetEattrResp{}, nil
}

func (s *Server) beginScrubLocked(rate int64) {
	sc := &s.scrub
	ctx, stop := context.WithCancel(s.ctx)
	sc.stop, sc.damage = stop, nil
	sc.report = proto.ScrubReport{
		Running: true, Began: s.clock().Unix(), DatafilesAll: s.store.Stats().Objects[proto.TypeDatafile],
	}
	s.log.Info("a scrub begins", "bytes per second at most", rate)
	s.work.Go(func() {
		defer stop()
		err := s.store.Scrub(ctx, store.ScrubOptions{Rate: rate, Found: s.foundDamage, Progress: func(datafiles, bytes int64) {
			sc.mu.Lock()
			defer sc.mu.Unlock()
			sc.report.Datafiles, sc.report.Bytes = datafiles, bytes
		}})
		sc.mu.Lock()
		defer sc.mu.Unlock()
		if err == nil {
			err = ctx.Err() // it ended just before
		}
		if err != nil {
			sc.report.Error = shortened(err.Error(), 4*proto.ScrubWhatMax)
		}
		sc.stop, sc.report.Running, sc.report.Ended = nil, false, s.clock().Unix()
		s.log.Info("a scrub ended", "datafiles", sc.report.Datafiles, "bytes", sc.report.Bytes, "damaged", sc.report.Found, "err", err)
	})
}

// foundDamage records damage that a scrub found.
func (s *Server) foundDamage(d store.Damage) {
	s.log.Error("a scrub found damage", "datafile", d.Datafile, "file", d.Metafile, "offset", d.Offset, "bytes", d.Length, "what", d.What)
	s.scrub.mu.Lock()
	defer s.scrub.mu.Unlock()
	s.scrub.report.Found++
	if len(s.scrub.damage) < scrubFoundMax {
		s.scrub.damage = append(s.scrub.damage, proto.ScrubDamage{
			Datafile: d.Datafile, Metafile: d.Metafile, Offset: d.Offset, Length: d.Length, What: shortened(d.What, proto.ScrubWhatMax),
		})
	}
}

func shortened(text string, most int) string {
	if len(text) > most {
		text = text[:most-3] + "..."
	}
	return text
}

// reportScrub returns the state of the scrub, with the damaged places from index from on.
func (s *Server) reportScrub(from int) (*proto.GetEattrResp, error) {
	s.scrub.mu.Lock()
	defer s.scrub.mu.Unlock()
	r := s.scrub.report
	r.From = min(from, len(s.scrub.damage))
	r.Damage = s.scrub.damage[r.From:min(r.From+proto.ScrubPage, len(s.scrub.damage))]
	value, err := r.Value()
	if err != nil {
		return nil, err
	}
	return &proto.GetEattrResp{Values: [][]byte{value}, Errors: []proto.Status{proto.OK}}, nil
}

// damageOf returns the damaged places of a datafile (proto.DamageKey).
func (s *Server) damageOf(datafile proto.Handle) (*proto.GetEattrResp, error) {
	offset, is := s.store.DamageOf(datafile)
	if !is {
		return nil, proto.ENOENT
	}
	return &proto.GetEattrResp{Values: [][]byte{strconv.AppendInt(nil, offset, 10)}, Errors: []proto.Status{proto.OK}}, nil
}
