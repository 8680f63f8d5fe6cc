package gather

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// Limits of a snapshot.
const (
	textRunesMax = 200
	endpointsMax = 4096
	methodsMax   = 256
	peersMax     = 100_000 // of all endpoints, or rows of a table
	statesMax    = 64
	railsMax     = 64
	kindsMax     = 256
	boundsMax    = 256
	reasonsMax   = 256
	waitsMax     = 4096
	waitRanksMax = 1 << 20 // of all waits
	ranksMax     = 1 << 17
	countMax     = math.MaxInt32 // of queues
	secondsMax   = 1e12          // of a latency
	rateMax      = 1e18
)

// Clean makes text of another process harmless on a terminal and in a page: characters that move the cursor, that change
// the direction of writing, or that are invisible become ?, and long text is cut.
func Clean(text string) string {
	clean := true
	for i := 0; i < len(text) && clean; i++ {
		clean = text[i] >= ' ' && text[i] < 0x7f
	}
	if clean && len(text) <= textRunesMax {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > textRunesMax {
			b.WriteRune('…')
			break
		}
		if r != ' ' && !unicode.IsGraphic(r) || r == utf8.RuneError || unicode.In(r, unicode.Mn, unicode.Me) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// A checker collects the first thing that is wrong.
type checker struct{ err error }

// most limits how many there are of something.
func (c *checker) most(n, limit int, what string) {
	if n > limit && c.err == nil {
		c.err = fmt.Errorf("%d %s, over %d", n, what, limit)
	}
}

// between limits a number.
func (c *checker) between(n float64, least, most float64, what string) {
	if !(n >= least && n <= most) && c.err == nil {
		c.err = fmt.Errorf("%s of %g", what, n)
	}
}

// check limits and cleans a snapshot.
func check(s *watch.Snapshot) error {
	c := new(checker)
	clean(&s.Program, &s.Host, &s.Version)
	c.between(float64(s.PID), 0, math.MaxInt32, "a process number")
	s.Counts = nil // no view shows them
	c.most(len(s.Endpoints), endpointsMax, "endpoints")
	for i := range s.Endpoints {
		c.endpoint(&s.Endpoints[i])
	}
	n := 0
	for i := range s.Endpoints {
		n += len(s.Endpoints[i].Peers)
	}
	c.most(n, peersMax, "peers")
	if s.Table != nil {
		c.table(s)
	}
	if s.Server != nil {
		c.server(s.Server)
	}
	if s.Rank != nil {
		c.rank(s.Rank)
	}
	return c.err
}

func clean(texts ...*string) {
	for _, t := range texts {
		*t = Clean(*t)
	}
}

func (c *checker) queues(numbers ...int) {
	for _, n := range numbers {
		c.between(float64(n), 0, countMax, "a queue")
	}
}

func (c *checker) endpoint(e *watch.Endpoint) {
	c.most(len(e.Methods), methodsMax, "methods")
	for i := range e.Methods {
		clean(&e.Methods[i].Name, &e.Methods[i].Address)
	}
	c.between(float64(e.UnexpectedMessages), 0, countMax, "unexpected messages")
	c.between(float64(e.UnexpectedBytes), 0, math.MaxInt64, "unexpected bytes")
	for i := range e.Peers {
		c.peer(&e.Peers[i])
	}
}

func (c *checker) peer(p *watch.Peer) {
	clean(&p.Method, &p.Address, &p.State)
	c.queues(p.QueuedSends)
	c.between(float64(p.QueuedBytes), 0, math.MaxInt64, "queued bytes")
	c.between(p.RoundTrip.Seconds(), 0, secondsMax, "a round trip")
	c.most(len(p.Rails), railsMax, "rails")
	for i := range p.Rails {
		clean(&p.Rails[i].Name, &p.Rails[i].State)
	}
}

func (c *checker) table(s *watch.Snapshot) {
	t := s.Table
	c.most(len(t.Rows), peersMax, "rows")
	c.most(len(t.States), statesMax, "states")
	c.between(float64(t.Known), 0, countMax, "a number of peers")
	c.between(float64(t.Matched), float64(len(t.Rows)), float64(max(t.Known, 0)), "a number of peers that matched")
	states := make(map[string]int, len(t.States))
	for name, n := range t.States {
		c.between(float64(n), 0, float64(max(t.Known, 0)), "a number of peers in a state")
		states[Clean(name)] += n
	}
	t.States = states
	c.queues(t.Sum.QueuedSends)
	c.rates(&t.Sum.Rates)
	for i := range t.Rows {
		c.peer(&t.Rows[i].Peer)
		c.between(float64(t.Rows[i].Endpoint), 0, endpointsMax, "the number of an endpoint")
		c.rates(&t.Rows[i].Rates)
	}
}

func (c *checker) rates(r *watch.Rates) {
	for _, n := range []float64{r.BytesSent, r.BytesReceived, r.MessagesSent, r.MessagesReceived, r.Retransmissions, r.Lost} {
		c.between(n, 0, rateMax, "a rate")
	}
}

func (c *checker) server(s *watch.Server) {
	clean(&s.Alias, &s.FileSystem)
	c.most(len(s.Requests), kindsMax, "kinds of requests")
	for i := range s.Requests {
		c.request(&s.Requests[i])
	}
	c.most(len(s.Refused), reasonsMax, "reasons for refusals")
	if c.err == nil {
		refused := make(map[string]uint64, len(s.Refused))
		for reason, n := range s.Refused {
			refused[Clean(reason)] += n
		}
		s.Refused = refused
	}
	for _, p := range []*watch.Progress{s.Heal, s.Scrub} {
		if p != nil {
			clean(&p.Unit)
		}
	}
	s.SpaceFree = min(s.SpaceFree, s.SpaceTotal)
}

func (c *checker) request(r *watch.Request) {
	clean(&r.Kind)
	c.most(len(r.Bounds), boundsMax, "bounds of latencies")
	if len(r.Counts) != 0 && len(r.Counts) != len(r.Bounds)+1 && c.err == nil {
		c.err = fmt.Errorf("%d counts for %d bounds of latencies", len(r.Counts), len(r.Bounds))
	}
	c.between(r.Sum, 0, math.MaxFloat64, "a sum of latencies")
	last := 0.0
	for _, b := range r.Bounds {
		c.between(b, last, secondsMax, "a bound of latencies")
		last = b
	}
}

func (c *checker) rank(r *watch.Rank) {
	clean(&r.Job)
	c.between(float64(r.Size), 1, ranksMax, "a size of a job")
	c.between(float64(r.Rank), 0, float64(r.Size)-1, "a rank")
	c.most(len(r.Waits), waitsMax, "calls that wait")
	n := 0
	for i := range r.Waits {
		w := &r.Waits[i]
		clean(&w.Call)
		n += len(w.Peers)
		for _, p := range w.Peers {
			c.between(float64(p), 0, float64(r.Size)-1, "a rank")
		}
	}
	c.most(n, waitRanksMax, "ranks that are waited for")
}
