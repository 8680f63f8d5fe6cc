package rma

import "github.com/viaduct-hpc/viaduct/bmi/about"

// What package mpi/tool shows of a window.
func init() {
	about.Register(about.Source{Binding: about.Window, Counts: counts})
}

func counts(object any) []about.Count {
	w, ok := object.(*Win)
	if object != nil && (!ok || w == nil) {
		return nil
	}
	pending := about.Count{Name: "mpi.rma.pending", Class: about.Level, Text: "operations at a rank that are not complete"}
	size := about.Count{Name: "mpi.rma.bytes", Class: about.Size, Text: "size of a rank's memory; 0 in a dynamic window"}
	reach := about.Count{Name: "mpi.rma.within_reach", Class: about.State, States: []string{"no", "yes", "rdma"}, Text: "how a rank's memory is reached: by calls (no), mapped here, so that operations on it are loads and stores (yes), or by RDMA for puts and gets (rdma)"}
	if w != nil {
		for i := range w.peers {
			p := &w.peers[i]
			pending.Values = append(pending.Values, uint64(max(p.pending.Load(), 0)))
			size.Values = append(size.Values, uint64(max(p.size, 0)))
			mapped := uint64(0)
			if known := p.reach.known.Load(); p.mem != nil {
				mapped = 1
			} else if known != nil && len(*known) > 0 {
				mapped = 2
			}
			reach.Values = append(reach.Values, mapped)
		}
	}
	return []about.Count{pending, size, reach}
}
