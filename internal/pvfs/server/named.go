package server

import (
	"context"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// An object may be removed by every user who may remove from the directory where it counts as made. A rename changes that
// directory. A client of ours says in RMDIRENT where the object is now, see noteMoved. A stock client makes the new name, removes
// the old one, and says no more. So the server of the object notes for a while which user gave it a name in another directory.
// When the same user removes its name from the directory where it counts as made, it counts as made in the other one.
//
// A name that a user gives to another user's object in its own directory changes nothing, because that user does not remove the
// object's old name. Only with signed capabilities is it known which user asks.

// named has the notes. The zero value is ready.
type named struct {
	mu    sync.Mutex
	notes map[namedKey]namedNote
	order []namedKey // a ring of the keys noted; some notes may be dropped already
	next  int
}

type namedKey struct {
	object proto.Handle
	user   uint32
}

type namedNote struct {
	dir proto.Handle
	at  time.Time
}

// add notes that a user gave an object a name in a directory. It replaces the previous note.
func (n *named) add(c proto.NameChange, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.notes == nil {
		n.notes, n.order = make(map[namedKey]namedNote), make([]namedKey, namedMax)
	}
	key := namedKey{c.Object, c.User}
	if _, known := n.notes[key]; !known {
		delete(n.notes, n.order[n.next])
		n.order[n.next] = key
		n.next = (n.next + 1) % namedMax
	}
	n.notes[key] = namedNote{c.Dir, now}
}

// dir is the directory noted for the object and user of a change; 0 if there is none.
func (n *named) dir(c proto.NameChange, now time.Time) proto.Handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	note := n.notes[namedKey{c.Object, c.User}]
	if now.Sub(note.at) > namedFor {
		return 0
	}
	return note.dir
}

func (n *named) drop(c proto.NameChange) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.notes, namedKey{c.Object, c.User})
}

// follow updates an object of this server, in a transaction, after a change of its names, and reports whether it did.
func (s *Server) follow(o *store.Object, c proto.NameChange) bool {
	switch o.Type {
	case proto.TypeMetafile, proto.TypeDirectory, proto.TypeSymlink:
	default:
		return false
	}
	switch to := s.named.dir(c, s.clock()); {
	case !c.Removed && o.Parent == 0:
		o.Parent = c.Dir
	case c.Removed && o.Parent == c.Dir && to != 0 && to != c.Dir:
		o.Parent = to
	default:
		return false
	}
	return true
}

// followIn is follow for an object that another server may own. It returns the directory where an object of this server now
// counts as made.
func (s *Server) followIn(tx *store.Tx, c proto.NameChange) (made proto.Handle, err error) {
	if !s.ownedBy(c.Object, s.me) {
		return 0, nil
	}
	o, err := tx.Get(c.Object)
	if err != nil {
		return 0, nil // an entry may refer to no object
	}
	if s.follow(&o, c) {
		err = tx.Put(c.Object, o)
	}
	return o.Parent, err
}

// followed adds and drops notes after the commit. made is where the object counts as made now.
func (s *Server) followed(c proto.NameChange, made proto.Handle) {
	switch to := s.named.dir(c, s.clock()); {
	case !c.Removed && made != c.Dir:
		s.named.add(c, s.clock())
	case c.Removed && (to == made || to == c.Dir): // it counts as made there now, or the new name was removed again
		s.named.drop(c)
	}
}

// nameChange is the change of names that servers must note for a query. false: its client says what becomes of the object, or the
// user is not known, or may not remove from the directory.
func (s *Server) nameChange(q *query, object, dir proto.Handle, removed bool) (c proto.NameChange, ok bool) {
	_, removes := q.header.Hints.Removes()
	if q.Shows.Proof != rights.Client || !s.signs() || removes || q.header.Hints.Tells() || dir == 0 || object == 0 {
		return c, false
	}
	c = proto.NameChange{Object: object, Dir: dir, User: q.Shows.Issue.User, Removed: removed}
	return c, q.Shows.Issue.Known && (!removed || q.may(proto.MayRemove, dir) == nil)
}

// nameChanged is called after the commit of a change of names. made is where the object counts as made, if this server owns it.
// Otherwise the server of the object is informed. If that server does not answer, the object still counts as made in the
// directory before.
func (s *Server) nameChanged(ctx context.Context, c proto.NameChange, made proto.Handle) {
	owner, ok := s.fs.Owner(c.Object)
	if !ok {
		return
	}
	if owner == s.me {
		s.followed(c, made)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	if err := s.give(ctx, notice{to: owner, near: c.Dir, part: c.Object, hint: c.Hint()}); err != nil {
		s.log.Debug("a server could not be informed of a new name", "object", c.Object, "directory", c.Dir, "err", err)
	}
}
