package server

import (
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// userLog remembers which users sent requests recently.
type userLog struct {
	mu    sync.Mutex
	users []userSeen
}

// userSeen is one user.
type userSeen struct {
	uid         uint32
	count       uint64
	first, last time.Time
}

// note counts a request of a user. When the log is full, the user seen longest ago is dropped.
func (l *userLog) note(uid uint32, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := 0
	for i := range l.users {
		u := &l.users[i]
		if u.uid == uid {
			u.count, u.last = u.count+1, now
			return
		}
		if u.last.Before(l.users[oldest].last) {
			oldest = i
		}
	}
	seen := userSeen{uid: uid, count: 1, first: now, last: now}
	if len(l.users) < usersMax {
		l.users = append(l.users, seen)
	} else {
		l.users[oldest] = seen
	}
}

// since returns the users seen since a time.
func (l *userLog) since(from time.Time) []proto.UIDHistory {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []proto.UIDHistory
	for _, u := range l.users {
		if u.last.Before(from) {
			continue
		}
		all = append(all, proto.UIDHistory{
			UID: u.uid, Count: u.count,
			FirstS: uint64(u.first.Unix()), FirstUS: uint32(u.first.Nanosecond() / 1000),
			LastS: uint64(u.last.Unix()), LastUS: uint32(u.last.Nanosecond() / 1000),
		})
	}
	return all
}

// getUID returns the users that sent requests in the last req.History seconds.
func (s *Server) getUID(_ *query, req *proto.GetUIDReq) (*proto.GetUIDResp, error) {
	from := s.clock().Add(-time.Duration(req.History) * time.Second)
	return &proto.GetUIDResp{Users: s.admin.users.since(from)}, nil
}
