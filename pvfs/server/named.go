package server

import (
	"context"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// Who may remove an object from the directory where it counts as made may remove the object. A rename takes that along: by RMDIRENT a client of ours
// says where the object is now, see noteMoved. A stock client gives the new name and removes the old one, and says no more. So the server of the
// object notes for a while who gave it a name in another directory. When the same user removes its name from where it counts as made, it counts as
// made in that directory.
//
// A name that somebody gives in his own directory to what others made changes nothing in that: he is not the one who removes their name.
// Only with signed capabilities it is known who asks.

// named are the notes. The zero value is ready.
type named struct {
	mu    sync.Mutex
	notes map[namedKey]namedNote
	order []namedKey // the ring of those that were noted, some of them dropped since
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

// add notes that a user gave an object a name in a directory, in place of what was noted before.
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

// dir is what is noted for the object and user of a change; 0 if nothing is.
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

// follow changes an object of this server, in a transaction, as a change of its names has it, and reports whether it did.
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

// followIn is follow for an object that may be of another server. It returns where one of this server counts as made then.
func (s *Server) followIn(tx *store.Tx, c proto.NameChange) (made proto.Handle, err error) {
	if !s.ownedBy(c.Object, s.me) {
		return 0, nil
	}
	o, err := tx.Get(c.Object)
	if err != nil {
		return 0, nil // a name may lead nowhere
	}
	if s.follow(&o, c) {
		err = tx.Put(c.Object, o)
	}
	return o.Parent, err
}

// followed makes and drops notes after the commit. made is where the object counts as made now.
func (s *Server) followed(c proto.NameChange, made proto.Handle) {
	switch to := s.named.dir(c, s.clock()); {
	case !c.Removed && made != c.Dir:
		s.named.add(c, s.clock())
	case c.Removed && (to == made || to == c.Dir): // it went there, or the name was taken back
		s.named.drop(c)
	}
}

// nameChange is a change of names by a query of which servers keep account. false: its client tells what becomes of objects, or it is not
// known who asks, or he may not remove what is in the directory.
func (s *Server) nameChange(q *query, object, dir proto.Handle, removed bool) (c proto.NameChange, ok bool) {
	_, removes := q.header.Hints.Removes()
	if q.trust != client || !s.signs() || removes || q.header.Hints.Tells() || dir == 0 || object == 0 {
		return c, false
	}
	c = proto.NameChange{Object: object, Dir: dir, User: s.issueOf(&q.header.Capability).user, Removed: removed}
	return c, c.User != anybody && (!removed || q.may(proto.MayRemove, dir) == nil)
}

// nameChanged is called after the commit of a change of names. made is where the object counts as made, if it is of this server; if it
// is of another, that is told. Without an answer the object counts as made where it was.
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
		s.log.Debug("a server was not told of a name", "object", c.Object, "directory", c.Dir, "err", err)
	}
}
