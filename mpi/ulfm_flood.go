package mpi

import "bytes"

// A flood is one process's part in coming to a decision although others fail meanwhile: what it
// says and hears, without how. It is a flooding consensus, as in Cachin, Guerraoui and Rodrigues,
// "Introduction to Reliable and Secure Distributed Programming", 5.2, changed so that what one
// process decides nobody decides otherwise, even if it fails at once and only some have heard of
// it:
//
//   - A ballot names the members that are out: some process has lost them. Who says so hears them
//     no more, although what they said before may still come.
//   - The first round is for everybody to learn what the others propose. Whom a process does not
//     hear in it has failed.
//   - From the second on, a process decides when it has heard all who are not out, and all have
//     said what it said itself. Then these hear each other only, in that round, and have the same
//     proposal. A process that has heard but one proposal keeps to it, whoever fails; so from
//     then on there is no other one.
//   - A process that has heard different ones combines them, and those who are out have failed.
//
// A process tells its decision once, and is heard no more; who hears it takes it over. Without
// failures that is two rounds, and the decision.
type flood struct {
	me      int
	mine    ballot // what this process says in this round
	next    ballot // what it has heard in it, combined
	round   int    // rounds that have ended
	decided bool   // mine is the decision
	told    marks  // members that have told theirs
	lost    marks  // members that this process has lost

	// Of this round:
	alike  bool   // all have said what this process says
	agreed bool   // but for who is out
	losing bool   // a member was lost
	taken  ballot // a decision that was heard
}

// newFlood begins with what member me of n proposes. The ballot's failed members are out.
func newFlood(n, me int, mine ballot) *flood {
	f := &flood{me: me, mine: mine.clone(), told: newMarks(n), lost: newMarks(n)}
	f.mine.out().join(mine.failed())
	f.open()
	return f
}

// open begins a round.
func (f *flood) open() {
	f.next = f.mine.clone()
	f.alike, f.agreed, f.losing, f.taken = true, true, false, ballot{}
}

// listens tells whether a ballot of member i belongs to this round.
func (f *flood) listens(i int) bool {
	return i != f.me && !f.mine.out().has(i) && !f.told.has(i) && !f.lost.has(i)
}

// hear takes the ballot of a member that is listened to.
func (f *flood) hear(i int, got ballot) {
	if got.final() {
		f.told.add(i)
		f.taken = got
		return
	}
	f.alike = f.alike && bytes.Equal(got.b, f.mine.b)
	f.agreed = f.agreed && bytes.Equal(got.proposal(), f.mine.proposal())
	f.next.combine(got)
}

// lose takes note that a member has failed.
func (f *flood) lose(i int) {
	f.lost.add(i)
	f.losing = true
}

// turn ends a round in which everybody that was listened to has been heard or lost.
func (f *flood) turn() {
	f.round++
	switch {
	case f.decided:
	case f.taken.b != nil:
		f.next = f.taken.clone()
		f.next.out().join(f.mine.out())
		f.mine, f.decided = f.next, true
	case f.round > 1 && f.alike && !f.losing:
		f.mine = f.mine.clone()
		f.mine.b[0], f.decided = 1, true
	default:
		f.next.out().join(f.lost)
		if f.round == 1 || !f.agreed {
			f.next.failed().join(f.next.out())
		}
		f.mine = f.next
	}
	f.open()
}
