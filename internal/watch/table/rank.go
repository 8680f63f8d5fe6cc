package table

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// GapMin is the least time between two snapshots of which rates are made. Viewers that ask at other moments get rates over more.
const GapMin = 500 * time.Millisecond

// A Ranker makes tables from the snapshots of one process. It keeps two earlier ones for rates. Its methods may be called by
// several goroutines. The zero value is ready.
type Ranker struct {
	mu         sync.Mutex
	last, past *watch.Snapshot // last is at least GapMin after past
	rows       []watch.Row     // memory for the next table
	order      []keyed         // the same
}

// Rank returns a copy of a snapshot that has a table in place of its peers. The snapshot must not change any more. One that has a
// table already is returned as it is.
func (k *Ranker) Rank(s *watch.Snapshot, q Query) *watch.Snapshot {
	if s.Table != nil {
		return s
	}
	out := *s
	out.Endpoints = slices.Clone(s.Endpoints)
	for i := range out.Endpoints {
		out.Endpoints[i].Peers = nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	out.Table = k.rank(s, k.pastOf(s), q)
	return &out
}

// pastOf returns the snapshot that rates are measured from, and nil if there is none. The caller holds mu.
func (k *Ranker) pastOf(s *watch.Snapshot) *watch.Snapshot {
	switch {
	case k.last != nil && (k.last.PID != s.PID || !k.last.Started.Equal(s.Started)):
		k.last, k.past = s, nil // another process
	case k.last == nil:
		k.last = s
	case s.Taken.Sub(k.last.Taken) >= GapMin:
		k.last, k.past = s, k.last
	}
	return k.past
}

// rank makes a table. The caller holds mu.
func (k *Ranker) rank(s, past *watch.Snapshot, q Query) *watch.Table {
	t := &watch.Table{Offset: q.Offset, States: make(map[string]int)}
	earlier := index(past)
	seconds := 0.0
	if past != nil {
		seconds = s.Taken.Sub(past.Taken).Seconds()
	}
	rows := slices.Grow(k.rows[:0], peers(s))
	for e := range s.Endpoints {
		for i := range s.Endpoints[e].Peers {
			p := &s.Endpoints[e].Peers[i]
			rows = append(rows, watch.Row{Peer: *p, Endpoint: e})
			row := &rows[len(rows)-1]
			if before := earlier.find(e, i, p); before != nil && seconds > 0 {
				row.Rates = ratesOf(before, p, seconds)
			}
			t.States[row.State]++
			t.Known++
			t.Sum.Add(row)
			if !q.matches(row) {
				rows = rows[:len(rows)-1]
			}
		}
	}
	t.Matched = len(rows)
	t.Rows = k.page(rows, q)
	clear(rows) // nothing of the snapshot is kept
	k.rows = rows
	return t
}

func peers(s *watch.Snapshot) (n int) {
	for i := range s.Endpoints {
		n += len(s.Endpoints[i].Peers)
	}
	return n
}

// A keyed is a row with what it is sorted by.
type keyed struct {
	number float64
	text   string
	row    *watch.Row
}

// page sorts the rows and returns those that the query wants.
func (k *Ranker) page(rows []watch.Row, q Query) []watch.Row {
	if q.Limit == 0 || q.Offset >= len(rows) {
		return nil
	}
	order := slices.Grow(k.order[:0], len(rows))
	number, text := numbers[q.Sort], texts[q.Sort]
	for i := range rows {
		one := keyed{row: &rows[i]}
		if number != nil {
			one.number = number(one.row)
		} else {
			one.text = text(one.row)
		}
		order = append(order, one)
	}
	slices.SortFunc(order, func(a, b keyed) int {
		c := cmp.Compare(a.number, b.number)
		if c == 0 && text != nil {
			c = cmp.Compare(a.text, b.text)
		}
		if c == 0 {
			return ties(a.row, b.row)
		}
		if q.Ascending {
			return c
		}
		return -c
	})
	out := make([]watch.Row, 0, min(q.Limit, len(order)-q.Offset))
	for _, one := range order[q.Offset:min(q.Offset+q.Limit, len(order))] {
		out = append(out, *one.row)
	}
	clear(order)
	k.order = order
	return out
}
