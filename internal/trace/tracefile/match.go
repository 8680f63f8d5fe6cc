package tracefile

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// An endpoint is a method of an endpoint of a process. Messages are between two of them.
type endpoint struct {
	file, tid int
	method    string
}

// An end is one end of a message that arrived: its send, its receive, or the arrival of an unexpected one.
type end struct {
	file, number int // of the event
	endpoint     int
	peer         int // text
	sends        bool
	unexpected   bool
	class, tag   int64
	bytes        int64
	at, stop     time.Duration // in the time of the file
	id           uint64        // ascends in the order of posts
}

// A match is a message with both ends.
type match struct{ send, recv *end }

// A matcher collects the ends of messages from all files, and finds those that belong together. No message carries a number for
// this: messages between two endpoints with the same tag are received in the order in which they were sent.
type matcher struct {
	names     map[string]int
	texts     []string
	endpoints []endpoint
	at        map[[2]int]int // endpoints by file and track
	address   map[int]int    // endpoints by the text of their address
	ends      []end
	lossy     map[int]bool // files that have lost events
	ignored   int          // ends beyond the limit
}

func newMatcher() *matcher {
	return &matcher{names: map[string]int{}, at: map[[2]int]int{}, address: map[int]int{}, lossy: map[int]bool{}}
}

// text is the number of a text, -1 if there are too many.
func (m *matcher) text(s string) int {
	n, ok := m.names[s]
	switch {
	case ok:
		return n
	case len(m.texts) == namesMax:
		return -1
	}
	m.names[s] = len(m.texts)
	m.texts = append(m.texts, s)
	return len(m.texts) - 1
}

// take looks at an event of a file.
func (m *matcher) take(file, number int, e *Event) error {
	isEnd := e.Cat == "bmi" && (e.Ph == "e" || e.Ph == "X")
	isEndpoint := e.Ph == "M" && e.Name == "viaduct_endpoint"
	isLoss := e.Cat == "viaduct" && e.Ph == "i"
	if !isEnd && !isEndpoint && !isLoss {
		return nil
	}
	a, err := e.args()
	if err != nil {
		return err
	}
	switch {
	case isLoss:
		m.lossy[file] = true
	case isEndpoint:
		m.addEndpoint(file, int(e.TID), &a)
	case a.Result == "":
		m.addEnd(file, number, e, &a)
	}
	return nil
}

func (m *matcher) addEndpoint(file, tid int, a *Args) {
	key := [2]int{file, tid}
	n, ok := m.at[key]
	if !ok {
		if len(m.endpoints) == endpointsMax {
			return
		}
		n = len(m.endpoints)
		m.endpoints = append(m.endpoints, endpoint{file, tid, a.Method})
		m.at[key] = n
	}
	if a.Address == "" {
		return
	}
	if text := m.text(a.Address); text >= 0 {
		m.address[text] = n
	}
}

func (m *matcher) addEnd(file, number int, e *Event, a *Args) {
	at, ok := m.at[[2]int{file, int(e.TID)}]
	peer := m.text(a.peer())
	if !ok || peer < 0 {
		return
	}
	if len(m.ends) == matchesMax {
		m.ignored++
		return
	}
	x := end{
		file: file, number: number, endpoint: at, peer: peer, class: a.Class, tag: a.Tag, bytes: a.Bytes,
		sends: e.Name != "recv" && e.Name != "unexpected", unexpected: e.Name != "recv" && e.Name != "send",
		at: time.Duration(e.TS) - time.Duration(a.US), stop: time.Duration(e.TS), id: uint64(number),
	}
	if e.ID2 != nil {
		x.id, _ = strconv.ParseUint(e.ID2.Local, 0, 64) // a wrong one only changes the order
	}
	m.ends = append(m.ends, x)
}

// A stream is the messages between two endpoints that are in order.
type stream struct {
	from, to   int
	unexpected bool
	class, tag int64
}

// match finds the two ends of messages.
func (m *matcher) match() []match {
	anonymous := m.anonymous()
	type both struct{ sends, recvs []*end }
	streams := map[stream]*both{}
	var order []*both // so that the result does not depend on the order of a map
	for i := range m.ends {
		x := &m.ends[i]
		other, ok := m.address[x.peer]
		if !ok {
			other, ok = anonymous[[2]int{x.endpoint, x.peer}]
		}
		if !ok {
			continue
		}
		s := stream{from: x.endpoint, to: other, unexpected: x.unexpected, class: x.class, tag: x.tag}
		if !x.sends {
			s.from, s.to = s.to, s.from
		}
		b := streams[s]
		if b == nil {
			b = &both{}
			streams[s] = b
			order = append(order, b)
		}
		if x.sends {
			b.sends = append(b.sends, x)
		} else {
			b.recvs = append(b.recvs, x)
		}
	}
	var all []match
	for _, b := range order {
		all = append(all, m.pair(b.sends, b.recvs)...)
	}
	return all
}

// pair pairs the messages of a stream in order. It stops where they do not fit, because then none after that can be trusted.
func (m *matcher) pair(sends, recvs []*end) (all []match) {
	if len(sends) == 0 || len(recvs) == 0 {
		return nil
	}
	if (m.lossy[sends[0].file] || m.lossy[recvs[0].file]) && len(sends) != len(recvs) {
		return nil
	}
	posted := func(a, b *end) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) }
	slices.SortStableFunc(sends, posted)
	slices.SortStableFunc(recvs, posted)
	for i := range min(len(sends), len(recvs)) {
		if sends[i].bytes != recvs[i].bytes {
			break
		}
		all = append(all, match{sends[i], recvs[i]})
	}
	return all
}
