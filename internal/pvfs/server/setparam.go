package server

import (
	"math"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// paramText is the type of a parameter that is a text; none is.
const paramText = 1

// compares reports whether a SETPARAM only compares the value of a parameter, which every client may do.
func compares(p proto.Param) bool { return p == proto.ParamFSID || p == proto.ParamRootHandle }

// setParam sets a parameter of the running server, or compares it.
func (s *Server) setParam(_ *query, req *proto.SetParamReq) (*proto.SetParamResp, error) {
	switch req.Param {
	case proto.ParamFSID:
		if req.FS != s.fs.ID {
			return nil, proto.ENODEV
		}
		return &proto.SetParamResp{}, nil
	case proto.ParamRootHandle:
		owner, ok := s.fs.Owner(proto.Handle(req.Value))
		if !ok || owner != s.me || proto.Handle(req.Value) != s.fs.Root {
			return nil, proto.ENOENT
		}
		return &proto.SetParamResp{}, nil
	}
	if req.Type == paramText && req.Param != proto.ParamDebug {
		return nil, proto.EINVAL
	}
	if err := s.set(req.Param, req.Value); err != nil {
		return nil, err
	}
	return &proto.SetParamResp{}, nil
}

// set sets a parameter.
func (s *Server) set(p proto.Param, value uint64) error {
	switch p {
	case proto.ParamDebug: // this server's log is set up at its start
	case proto.ParamMode:
		if value != modeNormal && value != modeAdmin {
			return proto.EINVAL
		}
		s.admin.mode.Store(int32(value))
		s.log.Info("mode set", "admin", value == modeAdmin)
	case proto.ParamPerfHistory:
		if value == 0 || value > math.MaxInt32 {
			return proto.EINVAL
		}
		s.admin.perf.configure(int(value), 0)
	case proto.ParamPerfSample:
		if value == 0 || value > math.MaxInt32 {
			return proto.EINVAL
		}
		s.admin.perf.configure(0, time.Duration(value)*time.Millisecond)
	case proto.ParamSyncMeta:
		s.store.SetSync(value != 0, s.store.SyncsData())
	case proto.ParamSyncData:
		s.store.SetSync(s.store.SyncsMeta(), value != 0)
	case proto.ParamNoTimeouts:
		s.admin.noTimeouts.Store(value != 0)
	case proto.ParamEventOn, proto.ParamEventOff, proto.ParamDropCaches: // as stock servers do
		return proto.EOPNOTSUPP
	default:
		return proto.EINVAL
	}
	return nil
}
