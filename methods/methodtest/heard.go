package methodtest

import "github.com/viaduct-hpc/viaduct/bmi"

// heardTag is the tag of receives for which no message is sent.
const heardTag bmi.Tag = 0xdeaf

// heard makes sure that the method knows of every post of the lane, before something
// happens to the peer: a method in another process takes posts and cancels in order,
// after they were accepted.
func (l *lane) heard(peer *node) {
	l.t.Helper()
	r := l.recv(peer, heardTag, 1)
	l.cancel(r)
	l.w.wait(r)
}
