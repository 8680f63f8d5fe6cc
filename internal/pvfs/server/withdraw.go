package server

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A signed capability says when and for which user it was issued. When a change of the mode, the owner or the access control list
// of an object reduces a user's rights, the object's server notes the time. So does each server with bytes or entries of the
// object. A capability issued before that is then refused with EAGAIN, and its user gets a new one. Capabilities of the owner and
// of root stay valid: a file that was opened for writing can be written after its mode was changed, and both could restore any
// right. A capability that another user got for an open file also stays valid, until its time-out or the next start of the
// server.
//
// A withdrawal is recorded in the transaction of the change, and applies from the moment after the commit. A capability issued
// before that moment may have the old rights. One issued later cannot, because its moment is taken before the attributes are
// read.

// withdrawals are those that this server knows. The zero value is ready; its methods may be called by any goroutine.
type withdrawals struct {
	last atomic.Int64 // see moment
	some atomic.Bool  // of or before is not empty

	mu     sync.RWMutex
	of     map[proto.Handle]withdrawal
	before map[int]int64 // by index of the server: its capabilities issued up to this time (ns) are void
}

type withdrawal struct {
	rights.Withdrawal
	until int64 // when it may be dropped, Unix seconds
}

// moment is the current time in ns. Each call returns a larger value than the one before.
func (s *Server) moment() int64 {
	last := &s.withdrawals.last
	for {
		was := last.Load()
		now := max(s.clock().UnixNano(), was+1)
		if last.CompareAndSwap(was, now) {
			return now
		}
	}
}

// hold puts a withdrawal into effect. server is the index of the object's server.
func (w *withdrawals) hold(server int, h proto.Handle, is withdrawal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of, w.before = map[proto.Handle]withdrawal{}, map[int]int64{}
	}
	w.some.Store(true)
	was, known := w.of[h]
	if !known && len(w.of) >= withdrawalsMax {
		w.before[server] = max(w.before[server], is.At)
		return
	}
	is.Withdrawal = was.Later(is.Withdrawal)
	w.of[h] = is
}

// get is the withdrawal of an object.
func (w *withdrawals) get(h proto.Handle) withdrawal {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.of[h]
}

// forget drops the withdrawal was, unless it has been changed since get.
func (w *withdrawals) forget(h proto.Handle, was withdrawal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[h] == was {
		delete(w.of, h)
	}
}

// void reports whether a capability for an object is void.
func (w *withdrawals) void(h proto.Handle, c rights.Issue) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if c.At <= w.before[c.Server] {
		return true
	}
	is, ok := w.of[h]
	return ok && is.Voids(c)
}

// withdrawn reports whether a client's capability, whose signature was verified, is void.
func (s *Server) withdrawn(c rights.Capability) bool {
	if s.rules.Load().void.has(c.Issue) {
		return true
	}
	if !s.withdrawals.some.Load() || len(c.Handles) == 0 {
		return false
	}
	return s.withdrawals.void(c.Handles[0], c.Issue) // giveCapability lists the object itself first
}

// What the issuer of a capability ends with: for an open file, and for one whose mode sets an ID.
const (
	issuedSetsID = " setid"
	issuedOpen   = " open"
)

// issuerMax is the length limit of an issuer, bytes.
const issuerMax = 127

// issuerOf is the Issuer field of a new capability: the server, the time, the user and as many of its groups as there is room for,
// whether it is for a file whose mode sets an ID, and whether for an open one.
func (s *Server) issuerOf(is rights.Issue) string {
	b := make([]byte, 0, issuerMax)
	b = append(append(b, issuerPrefix...), s.cfg.Alias...)
	b = strconv.AppendInt(append(b, ' '), is.At, 10)
	b = strconv.AppendUint(append(b, ' '), uint64(is.User), 10)
	between := byte(':')
	for _, g := range is.Groups {
		more := strconv.AppendUint(append(b, between), uint64(g), 10)
		if len(more)+len(issuedSetsID)+len(issuedOpen) > issuerMax {
			break
		}
		b, between = more, ','
	}
	if is.SetsID {
		b = append(b, issuedSetsID...)
	}
	if is.Open {
		b = append(b, issuedOpen...)
	}
	return string(b)
}

// issueOf parses an Issuer field. Servers' own capabilities and unsigned ones name only a server.
func (s *Server) issueOf(c *proto.Capability) rights.Issue {
	is := rights.Issue{Server: -1}
	text, ok := strings.CutPrefix(c.Issuer, issuerPrefix)
	if !ok {
		return is
	}
	text, is.Open = strings.CutSuffix(text, issuedOpen)
	text, is.SetsID = strings.CutSuffix(text, issuedSetsID)
	alias, rest, _ := strings.Cut(text, " ")
	when, whom, _ := strings.Cut(rest, " ")
	is.Server = s.fs.Index(alias)
	whom, list, more := strings.Cut(whom, ":")
	at, err := strconv.ParseInt(when, 10, 64)
	user, err2 := strconv.ParseUint(whom, 10, 32)
	groups, ok := ids(list)
	if err == nil && err2 == nil && ok == more {
		is.At, is.User, is.Groups, is.Known = at, uint32(user), groups, true
	}
	return is
}

// ids parses a list of IDs with commas between them.
func ids(list string) (all []uint32, ok bool) {
	for text := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, false
		}
		all = append(all, uint32(id))
	}
	return all, true
}

// noteNarrowed records in a transaction of a query that the query reduces rights to an object. withdraw must follow.
func (s *Server) noteNarrowed(tx *store.Tx, q *query, o *store.Object, open bool) error {
	if !s.signs() {
		return nil
	}
	q.narrowed, q.narrowedOpen = o, open
	return s.noteWithdrawal(tx, proto.Withdrawal{Object: o.Handle, Owner: o.Owner})
}

// withdraw voids earlier capabilities for an object, here and on the other servers with bytes or entries of it. It is called
// after the commit, and waits for those servers for tellPatience at most. A server that does not answer gets the request again
// later.
func (s *Server) withdraw(ctx context.Context, o *store.Object, open bool) {
	w := proto.Withdrawal{Object: o.Handle, At: s.moment(), Owner: o.Owner, Open: open}
	s.hold(w)
	told := map[int]bool{s.me: true}
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	var wait sync.WaitGroup
	for _, part := range slices.Concat(o.Datafiles, o.DistDir.Dirdata) {
		if to, ok := s.fs.Owner(part); ok && !told[to] {
			told[to] = true
			wait.Go(func() { s.giveSurely(ctx, notice{to: to, near: w.Object, part: part, hint: w.Hint()}) })
		}
	}
	wait.Wait()
}

// hold puts a withdrawal into effect on this server.
func (s *Server) hold(w proto.Withdrawal) {
	if server, ok := s.fs.Owner(w.Object); ok {
		is := rights.Withdrawal{At: w.At, Owner: w.Owner}
		if w.Open {
			is.Ended = w.At
		}
		s.withdrawals.hold(server, w.Object, withdrawal{is, s.withdrawnUntil()})
	}
}
