package shm

import "golang.org/x/sys/unix"

// A crowd counts the resources of a device that each user has, if the device is open to all users. A user other
// than ours and root may have half of what the other users leave, so no user can take everything.
type crowd struct {
	most  int // connections of other users
	conns int // present connections of other users
	users map[uint32]*share
	ours  share // of our user and root; its conns are not counted
}

// share is the count of one user. Another user's share exists while it has a connection.
type share struct {
	conns     int // in every state
	greetings int // of these, those that have not sent a hello
	requests  int // of these, those that wait for an answer
}

// newCrowd limits other users so that descriptors are left for other purposes.
func newCrowd() crowd {
	most := OtherConnsMax
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		most = min(most, int(min(limit.Cur, 1<<30))/connFDs/2)
	}
	return crowd{most: most, users: make(map[uint32]*share)}
}

// fits reports whether a user that has a number of a resource may get one more, if all users have all and the
// limit is most.
func fits(has, all, most int) bool { return has < most-all }

// enter counts a new connection of a client. nil: its user already has its share.
func (w *crowd) enter(p *peerCred) *share {
	if !p.other {
		return &w.ours
	}
	s := w.users[p.user.UID]
	if s == nil {
		s = &share{}
	}
	if !fits(s.conns, w.conns, w.most) {
		return nil
	}
	w.users[p.user.UID] = s
	s.conns++
	w.conns++
	return s
}

// leave counts the end of a connection.
func (w *crowd) leave(p *peerCred) {
	if !p.other {
		return
	}
	s := w.users[p.user.UID]
	s.conns--
	w.conns--
	if s.conns == 0 {
		delete(w.users, p.user.UID)
	}
}

// mayRequest reports whether a client may wait for an answer to its request.
func (d *Device) mayRequest(c *conn) bool {
	waiting := len(d.requests)
	if !c.peer.other {
		return waiting < requestsMax
	}
	return fits(c.share.requests, waiting, requestsMax)
}
