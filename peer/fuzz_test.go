package peer

import (
	"encoding/binary"
	"testing"
	"time"
)

// FuzzStep gives a machine arbitrary events, few of which make sense. It must not
// panic, must keep its invariants, and may act only on links that it has.
func FuzzStep(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, 0, 10, 1, 0, 1, 1, 0})
	f.Add([]byte{5, 0, 0, 2, 5, 0, 6, 1, 0, 0, 0, 0, 9, 1, 0, 2, 5, 0, 11, 1, 12, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 5, 0, 0, 3, 4, 0, 7, 1, 6, 0, 0, 200, 13, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 600)] // a hundred events are enough
		cfg := testConfig()
		m := New(cfg, uint64(len(data)), len(data)%5 == 4)
		var now time.Duration
		var out []Action
		open := map[Link]bool{}
		for len(data) >= 6 {
			ev := fuzzEvent(data)
			now += time.Duration(data[5]) * 10 * time.Millisecond
			data = data[6:]
			fuzzReferences(m, ev)
			if ev.Kind == EventLinkFailed || ev.Kind == EventLinkDown {
				delete(open, ev.Link)
			}
			out = m.Step(now, ev, out[:0])
			for _, a := range out {
				checkLinks(t, open, a)
			}
			before := *m
			checkInvariants(t, m)
			*m = before
		}
	})
}

// fuzzEvent makes an event from six bytes; only small numbers of sessions and
// attempts occur in practice.
func fuzzEvent(data []byte) Event {
	h := Hello{
		Version: 3 + uint16(data[4]>>7), Session: uint64(data[3]%5) * 50, Attempt: uint64(data[4] & 63),
		PeerID: ID(data[4]), Reason: Reason(data[2] & 128), Latest: uint64(data[2] & 7),
	}
	if data[4]&64 != 0 {
		h.Attempt = binary.LittleEndian.Uint64(append([]byte{data[1], data[2], data[3]}, 0, 0, 0, 0, data[4]))
	}
	return Event{Kind: EventKind(data[0] % (eventCount + 2)), Link: Link(data[1] % 16), Reason: Reason(data[2]),
		Remote: data[1]&64 != 0, Request: Request(data[3]), Hello: h}
}

// fuzzReferences acquires and releases operations as an owner would.
func fuzzReferences(m *Machine, ev Event) {
	switch {
	case ev.Kind == EventTick && m.Ready():
		m.Acquire()
	case ev.Kind == EventDrained:
		for m.Refs() > 0 {
			m.Release()
		}
	}
}

func checkLinks(t *testing.T, open map[Link]bool, a Action) {
	t.Helper()
	switch a.Kind {
	case ActionLinkConnect, ActionLinkAccept:
		if len(open) > 0 {
			t.Fatalf("%v while %v are open", a, open)
		}
		open[a.Link] = true
	case ActionLinkClose:
		if !open[a.Link] {
			t.Fatalf("%v is not open", a)
		}
		delete(open, a.Link)
	case ActionSendConnReq, ActionSendConnAck, ActionSendBye, ActionSendKeepAlive, ActionAnswerKeepAlive:
		if !open[a.Link] {
			t.Fatalf("%v is not open", a)
		}
	}
}
