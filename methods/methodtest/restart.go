package methodtest

import (
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Peers that end, with or without notice, and come back under the same address:
// operations in progress fail, once and soon; later posts work.
var restartTests = Tests{
	{"RestartAfterClose", true, testRestartAfterClose},
	{"RestartManyTimes", false, testRestartManyTimes},
	{"RestartUnnoticed", false, testRestartUnnoticed},
	{"CrashCompletesEverything", false, testCrashCompletesEverything},
	{"CrashDuringTransfer", false, testCrashDuringTransfer},
	{"CrashSparesOthers", false, testCrashSparesOthers},
}

// returned records that b came back as a new endpoint, so that a uses the address
// that it has.
func (w *world) returned(a, old, fresh *node) {
	w.Helper()
	if w.s.OneWay {
		a.addr(fresh) // a may have got that address from a message of the old endpoint
		return
	}
	a.learn(fresh, a.addr(old))
}

func testRestartAfterClose(t T, s *Subject) {
	w := newWorld(t, s)
	a := w.open("a")
	for _, bConnects := range []bool{false, true} {
		if bConnects {
			w.twoWay()
		}
		b := w.open("b", shortDrain)
		if bConnects {
			w.exchange(b, a, 1, w.message(10))
		} else {
			w.exchange(a, b, 1, w.message(10))
		}
		r := a.recv(b, 1, 100)
		a.heard(b)
		fresh := w.restart(b)
		w.returned(a, b, fresh)
		w.failed([]*op{r})
		w.recovered(a, fresh)
	}
}

func testRestartManyTimes(t T, s *Subject) {
	w := newWorld(t, s)
	a, b := w.open("a"), w.open("b", shortDrain)
	for round := range 10 {
		if round%2 == 0 {
			w.exchange(a, b, 1, w.message(1000))
		} else {
			w.recovered(a, b)
		}
		var old []*op
		for tag := range bmi.Tag(5) {
			old = append(old, a.recv(b, 10+tag, 100))
		}
		a.heard(b)
		fresh := w.restart(b)
		w.returned(a, b, fresh)
		w.failed(old)
		w.recovered(a, fresh)
		b = fresh
	}
}

// testRestartUnnoticed posts to the new endpoint before it has noticed the end of
// the old one: the post works or fails, and later ones work.
func testRestartUnnoticed(t T, s *Subject) {
	w := newWorld(t, s)
	w.twoWay()
	a, b := w.open("a"), w.open("b", shortDrain)
	for range 3 {
		w.exchange(a, b, 1, w.message(10))
		fresh := w.restart(b)
		w.returned(a, b, fresh)
		w.recovered(fresh, a)
		b = fresh
	}
}

// underWay posts operations of every kind between a and b that cannot complete.
func (w *world) underWay(a, b *node) []*op {
	w.Helper()
	ops := []*op{a.recv(b, 50, 10), a.recv(b, 51, 1<<20), a.recvList(b, 52, []int{1})}
	if size := a.sizesOfEachProtocol()[5]; size > a.info().EagerSize {
		ops = append(ops, a.send(b, 53, w.message(size)), a.sendList(b, 54, w.message(size), []int{size}))
	}
	return ops
}

func testCrashCompletesEverything(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.crashes()
	for range 3 {
		w.exchange(a, b, 1, w.message(10))
		w.exchange(b, a, 1, w.message(10))
		ops := w.underWay(a, b)
		a.heard(b)
		if !s.HeadOfLine { // otherwise nothing overtakes the messages without a receive
			w.arrived(a, b)
		}
		w.crash(b)
		w.wait(ops...)
		for _, o := range ops {
			if o.recv {
				require.Error(t, o.c.Err, "%v got nothing", o)
			}
		}
		fresh := w.reopen(b)
		w.returned(a, b, fresh)
		w.recovered(a, fresh)
		b = fresh
	}
}

func testCrashDuringTransfer(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.crashes()
	sizes := a.largeSizes(1<<20, 4<<20)
	for round := range 12 {
		w.exchange(a, b, 1, w.message(10))
		m := w.message(sizes[round%len(sizes)])
		var o *op
		if round%2 == 0 {
			b.recv(a, 2, m.size)
			o = a.send(b, 2, m)
		} else {
			o = a.recv(b, 2, m.size)
			b.send(a, 2, m)
		}
		for range round / 2 % 3 {
			a.collect(0)
			w.step()
		}
		w.crash(b)
		w.wait(o)
		if o.recv && o.c.Err == nil {
			o.got(m)
		}
		fresh := w.reopen(b)
		w.returned(a, b, fresh)
		w.recovered(a, fresh)
		b = fresh
	}
}

func testCrashSparesOthers(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.crashes()
	c := w.open("c")
	w.meet(a, b, c)
	w.exchange(a, b, 1, w.message(10))
	w.exchange(a, c, 1, w.message(10))
	fromB, fromC := a.recv(b, 5, 100), a.recv(c, 5, 100)
	a.heard(b)
	w.crash(b)
	w.failed([]*op{fromB})
	require.True(t, fromC.pending, "a receive from another peer goes on waiting")
	m := w.message(100)
	w.done(c.send(a, 5, m))
	fromC.got(m)
}
