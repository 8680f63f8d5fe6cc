package methodtest_test

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// The optional features of the flawed method, with their flaws.

// Alloc implements bmi.Allocator.
func (m *flawedMethod) Alloc(size int) ([]byte, error) {
	if m.net.flaw == sharesMemory {
		if len(m.shared) < size {
			m.shared = make([]byte, size)
		}
		return m.shared[:size:size], nil
	}
	return make([]byte, size), nil
}

// Free implements bmi.Allocator.
func (m *flawedMethod) Free([]byte) error { return nil }

// InRange implements bmi.Ranger: a pattern is an address.
func (m *flawedMethod) InRange(p bmi.Peer, pattern string) (bool, error) {
	return p.String() == pattern || m.net.flaw == everywhere, nil
}

// Check implements bmi.Checker.
func (m *flawedMethod) Check(p bmi.Peer) error {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	to := m.net.nodeLocked(p.(*flawedPeer).name)
	if (to == nil || to.gone) && m.net.flaw != neverChecks {
		return bmi.ErrUnreachable
	}
	return nil
}

// Stats implements bmi.Statser.
func (m *flawedMethod) Stats(peers []bmi.PeerStats) (bmi.MethodStats, []bmi.PeerStats) {
	st := m.counted
	st.PostedRecvs, st.EarlyMessages = len(m.posted), len(m.early)
	switch m.net.flaw {
	case neverCounts:
		st = bmi.MethodStats{}
	case keepsForEver:
		st.EarlyMessages = int(st.MessagesReceived)
	}
	return st, peers
}

// drowsy is the flawed method with a Sleeper that nothing wakes: it sleeps until its time-out, even
// if something arrives.
type drowsy struct{ *flawedMethod }

func (drowsy) Arm() bool { return true }
func (drowsy) Disarm()   {}
func (drowsy) Wake()     {}

// drowsyTime is longer than the tests of the flaw allow, and short enough for
// endpoints to close.
const drowsyTime = 500 * time.Millisecond

func (drowsy) Sleep(timeout time.Duration) {
	if timeout < 0 || timeout > drowsyTime {
		timeout = drowsyTime
	}
	<-time.After(timeout)
}
