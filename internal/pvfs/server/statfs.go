package server

import (
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// statFS reports the storage, from the store's counters and the operating system, and the state of the machine.
func (s *Server) statFS(_ *query, req *proto.StatFSReq) (*proto.StatFSResp, error) {
	available, total, err := s.store.Space()
	if err != nil {
		return nil, err
	}
	st := s.store.Stats()
	resp := &proto.StatFSResp{
		FS: req.FS, BytesAvailable: available, BytesTotal: total,
		HandlesTotal:     st.MetaHandles + st.DataHandles,
		HandlesAvailable: left(st.MetaHandles, st.MetaHandlesUsed) + left(st.DataHandles, st.DataHandlesUsed),
	}
	machine(resp)
	return resp, nil
}

// left is what is not used. More may be in use than the configuration's present ranges have.
func left(all, used uint64) uint64 { return all - min(all, used) }

// machine fills in memory, load (in 65536ths) and uptime. They stay 0 if the system does not report them.
func machine(resp *proto.StatFSResp) {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return
	}
	unit := uint64(max(info.Unit, 1))
	resp.RAMTotal, resp.RAMFree = uint64(info.Totalram)*unit, uint64(info.Freeram)*unit
	resp.Load1, resp.Load5, resp.Load15 = uint64(info.Loads[0]), uint64(info.Loads[1]), uint64(info.Loads[2])
	resp.Uptime = uint64(info.Uptime)
}
