package methodtest

import "github.com/viaduct-hpc/viaduct/bmi"

// heardTag is that of receives which nobody sends for.
const heardTag bmi.Tag = 0xdeaf

// heard makes sure that the method knows of everything that the lane posted, before
// something happens to the peer: one in another process takes posts and cancels in order,
// after they were accepted.
func (l *lane) heard(peer *node) {
	l.t.Helper()
	r := l.recv(peer, heardTag, 1)
	l.cancel(r)
	l.w.wait(r)
}
