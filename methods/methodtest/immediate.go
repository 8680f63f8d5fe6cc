package methodtest

import (
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// An operation that is done within its post never completes again; one that is
// not completes exactly once. The lanes check that in every test; these tests
// cause both cases on purpose.
var immediateTests = Tests{
	{"ImmediateOrOnce", true, testImmediateOrOnce},
	{"ImmediateLeavesNothing", true, testImmediateLeavesNothing},
}

// sizesOfEachProtocol are lengths that are sent in different ways.
func (n *node) sizesOfEachProtocol() []int {
	i := n.info()
	large := min(4*i.EagerSize+100_000, i.MaxExpectedSize)
	return []int{0, 1, 8, min(1000, i.MaxExpectedSize), min(i.EagerSize, large), large}
}

func testImmediateOrOnce(t T, s *Subject) {
	w, a, b := pair(t, s)
	immediate := 0
	for _, size := range a.sizesOfEachProtocol() {
		for range 10 {
			early, late := w.message(size), w.message(size)
			// First a send, then a receive. The test does not wait for the send in between.
			send := a.send(b, 1, early)
			r := b.recv(a, 1, size)
			w.done(send, r)
			r.got(early)
			// A receive first.
			r2 := b.recv(a, 1, size)
			require.False(t, r2.immediate, "a receive is not done before its message was sent")
			send2 := a.send(b, 1, late)
			w.done(send2, r2)
			r2.got(late)
			for _, o := range []*op{send, r, send2, r2} {
				if o.immediate {
					immediate++
				}
			}
		}
	}
	t.Logf("%d operations completed immediately", immediate)
	// A second completion may be late: more traffic makes it appear.
	w.exchange(a, b, 2, w.message(10))
	w.exchange(b, a, 2, w.message(10))
	a.lane.sweep()
	b.lane.sweep()
}

func testImmediateLeavesNothing(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(10)) // connected from here on
	for i := range 50 {
		m := w.message(i)
		r := b.recv(a, 2, 100)
		send := a.send(b, 2, m)
		w.done(send)
		if send.immediate {
			// Its buffer was overwritten at once, which must not change the
			// message.
			var out [1]bmi.Completion
			n, err := a.ctx.TestContext(out[:], 0)
			require.NoError(t, err)
			require.Zero(t, n, "an immediate completion is returned by no Test call")
		}
		r.got(m)
	}
}
