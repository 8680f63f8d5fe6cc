package server

import (
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// An operation declares which fields of its requests are objects, and what a client needs for each. perform decides before
// the operation runs. A transaction for a query (view, update, within) reaches these objects and no others.

// senders says who may send a request at all.
type senders uint8

const (
	anyone senders = iota
	servers
	serversAndAdministrators
	observers      // see mayObserve
	administrators // from where they may manage this server
	settersOfParameters
)

var sendersNames = [...]string{
	"anyone", "servers", "servers and administrators", "observers", "administrators", "administrators, and anyone to compare the file system and its root",
}

func (w senders) String() string { return sendersNames[w] }

// A need is what a client needs for an object of a request.
type need struct {
	object string // as docs/reference/security-pvfs.md names it
	rights string // likewise
	// of are the objects.
	of func(q *query) []proto.Handle
	// shown checks the capability of the request, if it is not nil: EACCES.
	shown func(s *Server, q *query, objects []proto.Handle) error
	// asked decides what takes more than the capability, before the operation runs. It may ask other servers.
	asked func(s *Server, q *query, object proto.Handle) error
}

// A field is an object of a request, or several.
type field struct {
	name string
	of   func(q *query) []proto.Handle
}

// object is a field with one object.
func object[R any, P interface {
	*R
	proto.Request
}](name string, of func(P) proto.Handle) field {
	return field{name, func(q *query) []proto.Handle { return []proto.Handle{of(q.req.(P))} }}
}

// objects is a field with several.
func objects[R any, P interface {
	*R
	proto.Request
}](name string, of func(P) []proto.Handle) field {
	return field{name, func(q *query) []proto.Handle { return of(q.req.(P)) }}
}

// around is the metafile or the directory that a request names in its hint.
func around(name string) field { return field{name, (*query).parent} }

// hinted makes a need one that cannot do without the hint: EINVAL, if there is a capability at all.
func (n need) hinted() need {
	shown := n.shown
	n.shown = func(s *Server, q *query, objects []proto.Handle) error {
		if q.near() == 0 && q.Shows.Proof != rights.Nothing {
			return proto.EINVAL
		}
		return shown(s, q, objects)
	}
	return n
}

// known is for an object whose handle gives the right.
func (f field) known() need { return need{object: f.name, rights: "none", of: f.of} }

// listed is for an object that the capability, if there is one, must list.
func (f field) listed() need { return f.any(0) }

// shownAny is for objects that any capability will do for.
func (f field) shownAny() need {
	return need{object: f.name, rights: "any capability", of: f.of, shown: func(*Server, *query, []proto.Handle) error { return nil }}
}

// any is for an object to which the capability must give one of some rights.
func (f field) any(rights proto.OpMask) need {
	return need{object: f.name, rights: rightsText(rights, " or "), of: f.of, shown: func(_ *Server, q *query, objects []proto.Handle) error {
		return q.may(rights, objects...)
	}}
}

// all is for an object to which the capability must give all of some rights.
func (f field) all(rights proto.OpMask) need {
	return need{object: f.name, rights: rightsText(rights, " and "), of: f.of, shown: func(_ *Server, q *query, objects []proto.Handle) error {
		return q.mayAll(rights, objects...)
	}}
}

// byRequest is any for rights that depend on the request.
func (f field) byRequest(text string, of func(proto.Request) proto.OpMask) need {
	return need{object: f.name, rights: text, of: f.of, shown: func(_ *Server, q *query, objects []proto.Handle) error {
		return q.may(of(q.req), objects...)
	}}
}

// each is for objects for each of which the operation carries out another one, which has its own needs.
func (f field) each(op proto.Op) need {
	return need{object: f.name, rights: "as for " + op.String(), of: f.of}
}

// strictly makes a need one of strict servers alone, see Config.Strict.
func (n need) strictly() need {
	shown := n.shown
	n.rights = "on a strict server: " + strings.TrimSuffix(n.rights, ifThereIsOne)
	n.shown = func(s *Server, q *query, objects []proto.Handle) error {
		switch {
		case !s.cfg.Strict:
			return nil
		case q.Shows.Proof == rights.Nothing:
			return proto.EACCES
		}
		return shown(s, q, objects)
	}
	return n
}

// decide checks that the sender of a query may send it. Its objects are those that the query's transactions may reach.
func (s *Server) decide(q *query, op *operation) error {
	if err := s.maySend(q, op.from); err != nil {
		return err
	}
	q.objects = q.objects[:0]
	for _, n := range op.needs {
		objects := n.of(q)
		if n.shown != nil {
			if err := n.shown(s, q, objects); err != nil {
				return err
			}
		}
		q.objects = append(q.objects, objects...)
	}
	for _, n := range op.needs {
		if n.asked == nil {
			continue
		}
		for _, object := range n.of(q) {
			if err := n.asked(s, q, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// maySend checks who sends a query. EACCES.
func (s *Server) maySend(q *query, who senders) error {
	ok := true
	switch who {
	case servers:
		ok = q.Server()
	case serversAndAdministrators:
		ok = q.Server() || q.Administrator()
	case observers:
		return s.mayObserve(q)
	case administrators:
		return s.mayAdminister(q)
	case settersOfParameters:
		if r := q.req.(*proto.SetParamReq); !compares(r.Param) {
			return s.mayAdminister(q)
		}
	}
	if !ok {
		return proto.EACCES
	}
	return nil
}

// view is a transaction of an operation that reads. It reaches the objects that the operation declares, their parts, and what
// their entries name.
func (s *Server) view(q *query, f func(tx *store.Tx) error) error { return s.store.View(q.within(f)) }

// update is the same for one that changes something.
func (s *Server) update(q *query, f func(tx *store.Tx) error) error {
	return s.store.Update(q.within(f))
}

// within limits a transaction to that.
func (q *query) within(f func(tx *store.Tx) error) func(tx *store.Tx) error {
	return func(tx *store.Tx) error { return f(tx.Within(q.objects)) }
}

// ifThereIsOne ends the text of a need that a request without a capability meets.
const ifThereIsOne = ", or none"

// and adds to what docs/reference/security-pvfs.md says: what is decided in the transaction, because it depends on attributes.
func (n need) and(text string) need {
	n.rights = strings.TrimSuffix(n.rights, ifThereIsOne) + "; " + text
	return n
}

// rightsText names rights.
func rightsText(mask proto.OpMask, between string) (text string) {
	names := []string{"execute", "write", "read", "set attributes", "create", "administer", "remove", "batch create", "batch remove"}
	for bit, name := range names {
		if mask>>bit&1 != 0 {
			if text != "" {
				text += between
			}
			text += name
		}
	}
	if text == "" {
		return "a capability that lists it" + ifThereIsOne
	}
	return text
}
