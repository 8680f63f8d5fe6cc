package tracefile

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// A Summary is what files say in total. Times are in nanoseconds.
type Summary struct {
	Files     int    `json:"files"`
	Processes int    `json:"processes"`
	Events    int    `json:"events"`
	Dropped   int64  `json:"dropped"` // events that found their ring full
	Full      int    `json:"full"`    // files that reached their limit
	Cut       int    `json:"cut"`     // files whose process was killed while it wrote
	Calls     []Call `json:"calls"`   // by their total, longest first
	// Messages and requests that took longest.
	Slowest []Slow `json:"slowest"`
	// Waits are the time of operations with one peer, by their total.
	Waits []Wait `json:"waits"`
	// Pending have begun and not ended, oldest first. PendingMore is how many more there are.
	Pending     []Slow `json:"pending"`
	PendingMore int    `json:"pending_more"`
	// Left is how many different calls and waits were left out, because there were too many.
	Left int `json:"left_out"`
}

// A Call is all calls of one name.
type Call struct {
	Category string        `json:"category"`
	Name     string        `json:"name"`
	Count    int           `json:"count"`
	Failed   int           `json:"failed"`
	Bytes    int64         `json:"bytes"`
	Total    time.Duration `json:"total_ns"`
	Longest  time.Duration `json:"longest_ns"`
}

// Mean is the mean duration.
func (c *Call) Mean() time.Duration { return c.Total / time.Duration(max(c.Count, 1)) }

// A Slow is one operation.
type Slow struct {
	Process string        `json:"process"`
	Name    string        `json:"name"`
	Peer    string        `json:"peer"`
	Bytes   int64         `json:"bytes"`
	Tag     int64         `json:"tag"`
	Began   time.Duration `json:"began_ns"` // in the time of its file
	Time    time.Duration `json:"time_ns"`  // 0 if it has not ended
	Result  string        `json:"result,omitempty"`
}

// A Wait is the time that a process spent on operations of one name with one peer.
type Wait struct {
	Process string        `json:"process"`
	Name    string        `json:"name"`
	Peer    string        `json:"peer"`
	Count   int           `json:"count"`
	Total   time.Duration `json:"total_ns"`
	Longest time.Duration `json:"longest_ns"`
}

// pendingMax limits the operations under way that are kept.
const pendingMax = 1 << 17

// A summing is a Summary under way.
type summing struct {
	sum     Summary
	most    int // rows of the lists
	calls   map[[2]string]*Call
	waits   map[[3]string]*Wait
	pending map[pendingKey]Slow
	more    int                 // pending ones beyond the limit
	titles  map[[2]int64]string // of processes, by file and number
	owners  map[string]string   // titles by address
}

type pendingKey struct {
	file    int
	pid     int64
	cat, id string
}

// Summarize reads files, joined or not. most limits the rows of each list but that of calls.
func Summarize(names []string, most int) (*Summary, error) {
	s := &summing{
		most: most, calls: map[[2]string]*Call{}, waits: map[[3]string]*Wait{}, pending: map[pendingKey]Slow{},
		titles: map[[2]int64]string{}, owners: map[string]string{},
	}
	for file, name := range names {
		r, err := Each(name, func(_ *Reader, _ int, e *Event) error {
			return s.take(file, e)
		})
		if err != nil {
			return nil, err
		}
		if s.sum.Files++; r.Cut {
			s.sum.Cut++
		}
	}
	return s.end(), nil
}

// title names the process of an event.
func (s *summing) title(file int, e *Event) string {
	if t := s.titles[[2]int64{int64(file), e.PID}]; t != "" {
		return t
	}
	return "process " + strconv.FormatInt(e.PID, 10)
}

func (s *summing) take(file int, e *Event) error {
	a, err := e.args()
	if err != nil {
		return err
	}
	if e.Ph != "M" {
		s.sum.Events++
	}
	switch {
	case e.Ph == "M" && e.Name == "process_name":
		if len(s.titles) < endpointsMax {
			s.titles[[2]int64{int64(file), e.PID}] = a.Name
		}
	case e.Ph == "M" && e.Name == "viaduct_endpoint":
		if len(s.owners) < endpointsMax && a.Address != "" {
			s.owners[a.Address] = s.title(file, e)
		}
	case e.Cat == "viaduct":
		s.sum.Dropped += max(a.Dropped, 0)
		s.sum.Full += int(min(max(a.Full, 0), 1))
	case e.Ph == "b" && e.ID2 != nil:
		s.begin(file, e, &a)
	case e.Ph == "e" && e.ID2 != nil:
		s.finish(file, e)
		s.add(file, e, &a, time.Duration(a.US))
	case e.Ph == "X" && e.Dur != nil:
		s.add(file, e, &a, time.Duration(*e.Dur))
	}
	return nil
}

// begin notes something that is under way, finish that it has ended. What has no arguments ends in the next line. Something that
// is noted twice, as a part of a request has the number of the whole, is noted once.
func (s *summing) begin(file int, e *Event, a *Args) {
	if len(e.Args) == 0 {
		return
	}
	if len(s.pending) == pendingMax {
		s.more++
		return
	}
	s.pending[pendingKey{file, e.PID, e.Cat, e.ID2.Local}] = Slow{
		Process: s.title(file, e), Name: e.Name, Peer: a.peer(), Bytes: a.Bytes, Tag: a.Tag, Began: time.Duration(e.TS),
	}
}

func (s *summing) finish(file int, e *Event) {
	delete(s.pending, pendingKey{file, e.PID, e.Cat, e.ID2.Local})
}

// add adds something that has ended.
func (s *summing) add(file int, e *Event, a *Args, took time.Duration) {
	c := s.calls[[2]string{e.Cat, e.Name}]
	if c == nil {
		if len(s.calls) == namesMax {
			s.sum.Left++
			return
		}
		c = &Call{Category: e.Cat, Name: e.Name}
		s.calls[[2]string{e.Cat, e.Name}] = c
	}
	c.Count++
	c.Bytes = plus(c.Bytes, a.Bytes)
	c.Total = time.Duration(plus(int64(c.Total), int64(took)))
	c.Longest = max(c.Longest, took)
	if a.Result != "" {
		c.Failed++
	}
	peer := a.peer()
	if a.WorldPeer != nil {
		peer = "rank " + strconv.FormatInt(*a.WorldPeer, 10)
	} else if e.Cat == "mpi" && peer != "" {
		peer = "rank " + peer + " of " + a.Comm
	}
	if peer == "" {
		return
	}
	process := s.title(file, e)
	s.slow(Slow{
		Process: process, Name: e.Name, Peer: peer, Bytes: a.Bytes, Tag: a.Tag, Began: time.Duration(e.TS) - time.Duration(a.US),
		Time: took, Result: a.Result,
	})
	s.wait(process, e.Name, peer, took)
}

func (s *summing) wait(process, name, peer string, took time.Duration) {
	w := s.waits[[3]string{process, name, peer}]
	if w == nil {
		if len(s.waits) == namesMax {
			s.sum.Left++
			return
		}
		w = &Wait{Process: process, Name: name, Peer: peer}
		s.waits[[3]string{process, name, peer}] = w
	}
	w.Count++
	w.Total = time.Duration(plus(int64(w.Total), int64(took)))
	w.Longest = max(w.Longest, took)
}

// plus adds numbers of files, which may be anything: a sum that is too large stays at the largest number.
func plus(a, b int64) int64 {
	if sum := a + max(b, 0); sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// slow keeps an operation if it is one of the slowest.
func (s *summing) slow(x Slow) {
	all := s.sum.Slowest
	if len(all) == s.most && (s.most == 0 || x.Time <= all[len(all)-1].Time) {
		return
	}
	at, _ := slices.BinarySearchFunc(all, x, func(a, b Slow) int { return cmp.Compare(b.Time, a.Time) })
	for at < len(all) && all[at].Time == x.Time { // after those that are as slow
		at++
	}
	all = slices.Insert(all, at, x)
	s.sum.Slowest = all[:min(len(all), s.most)]
}

// end makes the lists.
func (s *summing) end() *Summary {
	for _, c := range s.calls {
		s.sum.Calls = append(s.sum.Calls, *c)
	}
	slices.SortFunc(s.sum.Calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Category, b.Category), cmp.Compare(a.Name, b.Name))
	})
	for _, w := range s.waits {
		s.sum.Waits = append(s.sum.Waits, *w)
	}
	slices.SortFunc(s.sum.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Peer, b.Peer))
	})
	s.sum.Waits = slices.Clip(s.sum.Waits[:min(len(s.sum.Waits), s.most)])
	s.sum.Pending = slices.SortedFunc(maps.Values(s.pending), func(a, b Slow) int {
		return cmp.Or(cmp.Compare(a.Began, b.Began), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Tag, b.Tag))
	})
	shown := min(len(s.sum.Pending), s.most)
	s.sum.PendingMore = len(s.sum.Pending) - shown + s.more
	s.sum.Pending = s.sum.Pending[:shown]
	s.nameOwners()
	s.sum.Processes = len(s.titles)
	return &s.sum
}

// nameOwners puts the names of processes in place of their addresses.
func (s *summing) nameOwners() {
	name := func(peer *string) {
		if owner := s.owners[*peer]; owner != "" {
			*peer = owner
		}
	}
	for i := range s.sum.Slowest {
		name(&s.sum.Slowest[i].Peer)
	}
	for i := range s.sum.Waits {
		name(&s.sum.Waits[i].Peer)
	}
	for i := range s.sum.Pending {
		name(&s.sum.Pending[i].Peer)
	}
}
