package collsim

// An event is a message that has come to a link.
type event struct {
	at     picos
	number uint64 // events at one time happen in the order in which they were added
	out    bool   // the link is that out of the sender's host, otherwise that into the receiver's
	from   int32
	to     int32
	bytes  int32
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.number < o.number }

// A queue returns the earliest event first. It is a heap with four children at each
// node, so that few cache lines are touched.
type queue struct {
	events []event
	number uint64
}

const children = 4

func (q *queue) add(e event) {
	e.number = q.number
	q.number++
	i := len(q.events)
	q.events = append(q.events, e)
	for i > 0 {
		up := (i - 1) / children
		if !e.before(&q.events[up]) {
			break
		}
		q.events[i] = q.events[up]
		i = up
	}
	q.events[i] = e
}

// next takes the earliest event out; false if there is none.
func (q *queue) next() (event, bool) {
	n := len(q.events) - 1
	if n < 0 {
		return event{}, false
	}
	first, e := q.events[0], q.events[n]
	q.events = q.events[:n]
	i := 0
	for {
		least := children*i + 1
		if least >= n {
			break
		}
		for k := least + 1; k < min(children*i+1+children, n); k++ {
			if q.events[k].before(&q.events[least]) {
				least = k
			}
		}
		if !q.events[least].before(&e) {
			break
		}
		q.events[i] = q.events[least]
		i = least
	}
	if n > 0 {
		q.events[i] = e
	}
	return first, true
}
