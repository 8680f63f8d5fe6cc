package methodtest

import (
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Progress: an application that posts and then never tests must not stall its
// peers. What the peer needs from it (a connection, a credit, its part of a
// rendezvous) happens in the background.
var progressTests = Tests{
	{"ProgressReceiverAway", false, testProgressReceiverAway},
	{"ProgressSenderAway", false, testProgressSenderAway},
	{"ProgressHandlerAlone", false, testProgressHandlerAlone},
	{"ProgressOneWay", false, testProgressOneWay},
}

func testProgressReceiverAway(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.threaded()
	for _, size := range a.sizesOfEachProtocol() {
		const count = 10
		var recvs, sends []*op
		var ms []message
		for range count {
			ms = append(ms, w.message(size))
			recvs = append(recvs, b.recv(a, 1, size))
		}
		// From here on b makes no call.
		for _, m := range ms {
			sends = append(sends, a.send(b, 1, m))
		}
		w.done(sends...)
		for i, r := range recvs {
			r.got(ms[i])
		}
	}
}

func testProgressSenderAway(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.threaded()
	for _, size := range a.sizesOfEachProtocol() {
		const count = 10
		var sends []*op
		var ms []message
		for range count {
			ms = append(ms, w.message(size))
			sends = append(sends, a.send(b, 1, ms[len(ms)-1]))
		}
		// From here on a makes no call.
		for _, m := range ms {
			b.recv(a, 1, size).got(m)
		}
		w.done(sends...)
	}
}

func testProgressHandlerAlone(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.threaded()
	a.addr(b)
	srv := b.serve(0)
	// Only a tests; b makes progress only through its handler.
	size := min(200, a.info().MaxUnexpectedSize)
	for tag := range bmi.Tag(50) {
		m := w.message(size)
		r := a.recv(b, tag, size)
		ask := a.sendUnexpected(b, 0, tag, m)
		r.got(m)
		w.done(ask)
	}
	srv.finish()
}

// testProgressOneWay sends much in one direction only, so that everything that
// must flow back does so by itself.
func testProgressOneWay(t T, s *Subject) {
	w, a, b := pair(t, s)
	const count = 3000
	var recvs []*op
	size := min(100, a.info().MaxExpectedSize)
	for range count {
		recvs = append(recvs, b.recv(a, 1, size))
	}
	var ms []message
	var sends []*op
	for range count {
		ms = append(ms, w.message(size))
		sends = append(sends, a.send(b, 1, ms[len(ms)-1]))
	}
	w.done(sends...)
	for i, r := range recvs {
		r.got(ms[i])
	}
	if st := b.method(); st != nil {
		require.GreaterOrEqual(t, st.MessagesReceived, uint64(count))
	}
}
