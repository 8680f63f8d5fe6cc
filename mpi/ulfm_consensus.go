package mpi

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A consensus runs floods over messages: the processes come to the same decisions, one after the
// other, even if some processes fail. In every round each member sends all others its ballot, and
// receives the ballots that its flood listens to.
//
// The last message of every member is its decision, and every member waits for the decisions of all
// others. So no message is left in the network afterwards, except of members that failed.
type consensus struct {
	scope  *core.Scope
	group  *Group
	ranks  []int // of each member, in the scope
	me     int
	number int // of this recovery of the communicator
	tag    int

	gone marks // members that this process knows to have failed; nil before the first decision
	out  marks // members that were out at the previous decision
}

// decide proposes a ballot, and returns the decision. An error ends the consensus in this process
// only; the failure of another process is not an error.
func (s *consensus) decide(mine ballot) (ballot, error) {
	s.notice()
	mine.failed().join(s.gone)
	mine.failed().join(s.out)
	f := newFlood(len(s.ranks), s.me, mine)
	for tell := true; tell || s.awaits(f); f.turn() {
		last := f.decided
		if err := s.round(f, tell); err != nil {
			return ballot{}, err
		}
		tell = !last
	}
	s.out = f.mine.out()
	return f.mine, nil
}

// notice adds the members that the engine knows to have failed.
func (s *consensus) notice() {
	if s.gone == nil {
		s.gone, s.out = newMarks(len(s.ranks)), newMarks(len(s.ranks))
	}
	for i, p := range s.group.All() {
		if i != s.me && p.Err() != nil {
			s.gone.add(i)
		}
	}
}

// awaits tells whether a ballot of some member is still expected.
func (s *consensus) awaits(f *flood) bool {
	for i := range s.ranks {
		if f.listens(i) {
			return true
		}
	}
	return false
}

// round sends a ballot to every member that has not failed, if tell is set, and receives one from
// each member that the flood listens to.
func (s *consensus) round(f *flood, tell bool) (err error) {
	n := len(s.ranks)
	sends, receives := make([]core.Request, n), make([]core.Request, n)
	got := make([]ballot, n)
	fate := make([]error, n)
	for i := range n {
		if f.listens(i) {
			got[i] = f.mine.blank()
			receives[i], fate[i] = s.scope.Irecv(core.Buffer{Mem: got[i].b}, s.ranks[i], s.tag)
		}
	}
	for i := range n {
		if tell && i != s.me && !s.gone.has(i) && fate[i] == nil {
			sends[i], fate[i] = s.scope.Isend(core.Standard, core.Buffer{Mem: f.mine.b}, s.ranks[i], s.tag)
		}
	}
	for i := range n {
		st, rerr := receives[i].Wait(background)
		_, serr := sends[i].Wait(background)
		failed := false
		for _, e := range [...]error{fate[i], rerr, serr} {
			switch {
			case errors.Is(e, errclass.ProcFailed):
				failed = true
			case e != nil && err == nil:
				err = e
			}
		}
		switch {
		case failed:
			s.gone.add(i)
			f.lose(i)
		case err != nil || got[i].b == nil:
		case st.Bytes != len(got[i].b):
			err = errclass.New(errclass.Intern, "a ballot of %d bytes came where they have %d", st.Bytes, len(got[i].b))
		default:
			f.hear(i, got[i])
		}
	}
	return err
}

// A ballot is the message of a member. It says whether it is a decision, and which members are out,
// and contains a proposal: the failed members, the acknowledged ones, and a value. Ballots are
// combined by OR of the members that are out or failed, and by AND of the rest.
type ballot struct {
	b   []byte
	set int // bytes of a set of members
}

// newBallot returns a ballot for n members with a value of value bytes. No member is out, failed or
// acknowledged, and the value is 0.
func newBallot(n, value int) ballot {
	set := len(newMarks(n))
	return ballot{b: make([]byte, 1+3*set+value), set: set}
}

func (v ballot) final() bool      { return v.b[0] != 0 }
func (v ballot) out() marks       { return marks(v.b[1 : 1+v.set]) }
func (v ballot) proposal() []byte { return v.b[1+v.set:] }
func (v ballot) failed() marks    { return marks(v.b[1+v.set : 1+2*v.set]) }
func (v ballot) acked() marks     { return marks(v.b[1+2*v.set : 1+3*v.set]) }
func (v ballot) value() []byte    { return v.b[1+3*v.set:] }

func (v ballot) flag() uint64     { return binary.LittleEndian.Uint64(v.value()) }
func (v ballot) setFlag(f uint64) { binary.LittleEndian.PutUint64(v.value(), f) }

// blank returns an empty ballot of the same size.
func (v ballot) blank() ballot { return ballot{b: make([]byte, len(v.b)), set: v.set} }

func (v ballot) clone() ballot { return ballot{b: bytes.Clone(v.b), set: v.set} }

// combine adds the contents of another ballot.
func (v ballot) combine(o ballot) {
	v.out().join(o.out())
	v.failed().join(o.failed())
	for i, x := range o.b[1+2*o.set:] {
		v.b[1+2*v.set+i] &= x
	}
}

// marks is a set of members, one bit for each.
type marks []byte

func newMarks(n int) marks { return make(marks, (n+7)/8) }

func (m marks) has(i int) bool { return m[i/8]>>(i%8)&1 != 0 }
func (m marks) add(i int)      { m[i/8] |= 1 << (i % 8) }

// join adds the members of another set of the same size.
func (m marks) join(o marks) {
	for i, x := range o {
		m[i] |= x
	}
}
