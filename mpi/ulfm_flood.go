package mpi

import "bytes"

// A flood is one process's part in reaching a decision although other processes fail: the ballots
// that it sends and receives, without the messages. It is a flooding consensus, as in Cachin,
// Guerraoui and Rodrigues, "Introduction to Reliable and Secure Distributed Programming", 5.2. It
// is changed so that a decision of one process is the decision of all, even if that process fails
// at once and only some have received it:
//
//   - A ballot names the members that are out: some process has lost them. A process that names a member does not listen to
//     it any more, although earlier ballots of that member may still arrive.
//   - In the first round every process learns the proposals of the others. A member whose ballot does not arrive has failed.
//   - From the second round on, a process decides when it has received a ballot from every member that is not out, and all
//     are equal to its own. Then these members listen only to each other in that round, and have the same proposal. A process
//     that has received only one proposal keeps it, whichever members fail, so there is no other one from then on.
//   - A process that has received different proposals combines them, and the members that are out have failed.
//
// A process sends its decision once, and the others do not listen to it any more. A process that
// receives a decision adopts it. Without failures there are two rounds and then the decision.
type flood struct {
	me      int
	mine    ballot // the ballot of this process in this round
	next    ballot // mine, combined with the ballots received in this round
	round   int    // rounds that have ended
	decided bool   // mine is the decision
	told    marks  // members that have sent their decision
	lost    marks  // members that this process has lost

	// Of this round:
	alike  bool   // all ballots received equal that of this process
	agreed bool   // all proposals received equal that of this process
	losing bool   // a member was lost
	taken  ballot // a decision that was received
}

// newFlood begins with the proposal of member me of n. The ballot's failed members are out.
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

// hear takes a ballot from a member that the flood listens to.
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

// lose records that a member has failed.
func (f *flood) lose(i int) {
	f.lost.add(i)
	f.losing = true
}

// turn ends a round in which every member that the flood listens to has sent its ballot or was
// lost.
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
