package server

import (
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// source returns what the server shows of itself while it serves. Its endpoint has its own source.
func (s *Server) source() *watch.Source {
	return &watch.Source{Counts: s.watchedCounts, Server: s.watched}
}

// ownCounts are counts that watch.Server does not have.
type ownCounts struct {
	Queued      int    `about:"requests that wait for a worker"`
	Running     int    `about:"requests without a transfer that are being carried out"`
	Flowing     int    `about:"requests with a transfer that are being carried out"`
	Outside     int    `about:"requests that wait for another server"`
	FlowMemory  int    `about:"bytes of buffers of transfers, in use or kept" name:"flow_memory_bytes"`
	FlowsFailed uint64 `about:"transfers that ended early"`
	Panics      uint64 `about:"errors of the program while it carried out a request"`

	Changes            uint64 `about:"successful requests that changed something"`
	CertificatesIssued uint64 `about:"certificates issued to users"`
	DamagedReads       uint64 `about:"reads of blocks whose checksum was wrong"`
	Resummed           uint64 `about:"checksums made anew"`
	Updates            uint64 `about:"transactions of the store"`
}

func (s *Server) watchedCounts() []about.Count {
	st := s.Stats()
	return about.Counts("pvfs", ownCounts{
		Queued: st.RPC.Queued, Running: st.RPC.Running, Flowing: st.RPC.Flowing, Outside: st.RPC.Outside, FlowMemory: st.RPC.FlowMemory,
		FlowsFailed: st.RPC.FlowsFailed, Panics: st.RPC.Panics, Changes: st.Changes, CertificatesIssued: st.CertificatesIssued,
		DamagedReads: uint64(st.Store.DamagedReads), Resummed: uint64(st.Store.Resummed), Updates: uint64(st.Store.Updates),
	})
}

// watched describes the server.
func (s *Server) watched() *watch.Server {
	st := s.Stats()
	w := &watch.Server{
		Alias: s.cfg.Alias, FileSystem: s.fs.Name, BytesRead: st.BytesOut, BytesWritten: st.BytesIn,
		Scrub: s.scrub.watched(), Refused: make(map[string]uint64),
	}
	if available, total, err := s.store.Space(); err == nil { // otherwise the space is not known
		w.SpaceTotal, w.SpaceFree = uint64(total), uint64(available)
	}
	for r := range refusal.Reason(refusal.Reasons) {
		w.Refused[r.String()] = s.refusals.Count(r)
	}
	for op := range st.RPC.Ops {
		w.Requests = append(w.Requests, request(op, st.RPC.Ops[op]))
	}
	slices.SortFunc(w.Requests, func(a, b watch.Request) int { return strings.Compare(a.Kind, b.Kind) })
	return w
}

func request(op proto.Op, st rpc.OpStats) watch.Request {
	r := watch.Request{
		Kind: strings.ToLower(op.String()), Failed: st.Failed, Active: uint64(max(st.Active, 0)),
		Counts: st.Latency[:], Sum: st.Time.Seconds(), Bounds: make([]float64, len(rpc.LatencyBounds)),
	}
	for _, n := range r.Counts { // requests that ended, as in the histogram
		r.Count += n
	}
	for i, bound := range rpc.LatencyBounds {
		r.Bounds[i] = bound.Seconds()
	}
	return r
}

// watched is how far the scrub has come; nil if there was none.
func (sc *scrub) watched() *watch.Progress {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	r := &sc.report
	if r.Began == 0 {
		return nil
	}
	return &watch.Progress{
		Running: r.Running, Done: uint64(r.Datafiles), Total: uint64(r.DatafilesAll), Unit: "datafiles", Found: uint64(r.Found),
	}
}
