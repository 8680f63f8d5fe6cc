package server

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Stats are counters of the server.
type Stats struct {
	RPC     rpc.ServerStats
	Store   store.Stats
	Changes uint64 // successful requests that changed something
	// BytesIn and BytesOut are bytes of files written and read, in flows and by SMALL_IO. They include flows that failed later.
	BytesIn, BytesOut uint64
	// AuthenticationFailures counts requests whose credential had no valid signature, and requests for certificates with a wrong password.
	AuthenticationFailures uint64
	CertificatesIssued     uint64
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	st := Stats{
		Store: s.store.Stats(), Changes: s.changes.Load(), CertificatesIssued: s.issued.Load(), AuthenticationFailures: s.refusals.Count(refusal.Authentication),
		BytesIn: uint64(s.admin.perf.now[countWrite].Load()), BytesOut: uint64(s.admin.perf.now[countRead].Load()),
	}
	if c := s.calls.Load(); c != nil {
		st.RPC = c.Stats()
	}
	return st
}

// failed counts an error of a request.
func (s *Server) failed(err error) {
	if proto.StatusOf(err) == proto.EACCES {
		s.refusals.Add(refusal.NoRight)
	}
}

// A Row is a line of a server's statistics. docs/reference/pvfs.md has a table of them.
type Row struct {
	Name  string
	Count uint64
}

// Statistics are counts of completed work, of refusals by reason, and of refusals in the network methods.
func (s *Server) Statistics() []Row {
	st := s.Stats()
	var all rpc.OpStats
	for _, op := range st.RPC.Ops {
		all.Requests, all.Failed, all.Nothing = all.Requests+op.Requests, all.Failed+op.Failed, all.Nothing+op.Nothing
	}
	rows := []Row{
		{"requests", all.Requests},
		{"requests refused or failed", all.Failed},
		{"lookups that found nothing", all.Nothing},
		{"bytes in", st.BytesIn},
		{"bytes out", st.BytesOut},
		{"transfers that failed", st.RPC.FlowsFailed},
		{"certificates issued", st.CertificatesIssued},
		{"damaged blocks read", st.Store.DamagedReads},
		{"checksums made anew", st.Store.Resummed},
		{"errors of this program", st.RPC.Panics + st.Store.Beyond},
	}
	for r := range refusal.Reason(refusal.Reasons) {
		rows = append(rows, Row{r.String(), s.refusals.Count(r)})
	}
	return append(rows, s.refusedByMethods()...)
}

// refusedByMethods counts the connections and messages that the network methods refused, summed over all methods.
func (s *Server) refusedByMethods() []Row {
	var e bmi.ErrorCounts
	var held uint64
	if ep := s.ep.Load(); ep != nil {
		st := ep.Stats()
		held = st.Endpoint.RefusedUnexpected
		for i := range st.Methods {
			m := &st.Methods[i].Errors
			e.TurnedAway += m.TurnedAway
			e.Displaced += m.Displaced
			e.Incomplete += m.Incomplete
			e.Protocol += m.Protocol
			e.ConnectFailed += m.ConnectFailed
		}
	}
	return []Row{
		{"connections turned away", e.TurnedAway},
		{"connections closed to make room", e.Displaced},
		{"half messages ended", e.Incomplete},
		{"protocol errors", e.Protocol},
		{"connections that failed", e.ConnectFailed},
		{"messages held back", held},
	}
}
