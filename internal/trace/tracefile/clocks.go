package tracefile

import (
	"fmt"
	"math"
	"time"
)

// A HostClock is how far the clock of a host is from that of the first file's host.
type HostClock struct {
	Host string `json:"host"`
	// Offset is added to its monotonic clock.
	Offset time.Duration `json:"offset_ns"`
	// Error is how wrong Offset can be. It is < 0 if there are no messages both ways: then the time of day is compared, and
	// nothing is known of the error.
	Error time.Duration `json:"error_ns"`
}

// A machine is a host, or what runs on a host whose boot is not known.
type machine struct {
	HostClock
	header *Header // of its first file
	known  bool
}

// clocks estimates the differences between the clocks of hosts.
//
// A message from a to b needs at least no time, so each bounds the difference on one side. The fastest message each way gives the
// best bounds. The true difference lies between, and the middle is taken.
type clocks struct {
	machines []*machine
	of       []int                    // by file
	fastest  map[[2]int]time.Duration // from, to: the least difference of a receive and its send
}

func newClocks(headers []*Header) *clocks {
	c := &clocks{fastest: map[[2]int]time.Duration{}}
	boots := map[string]int{}
	for _, h := range headers {
		n, ok := boots[h.Boot]
		if !ok || h.Boot == "" {
			n = len(c.machines)
			boots[h.Boot] = n
			c.machines = append(c.machines, &machine{HostClock: HostClock{Host: h.Host}, header: h})
		}
		c.of = append(c.of, n)
	}
	return c
}

// take looks at a message between two hosts.
func (c *clocks) take(headers []*Header, m match) {
	key := [2]int{c.of[m.send.file], c.of[m.recv.file]}
	took := m.recv.stop + headers[m.recv.file].Monotonic - m.send.at - headers[m.send.file].Monotonic
	if least, ok := c.fastest[key]; key[0] != key[1] && (!ok || took < least) {
		c.fastest[key] = took
	}
}

// solve finds the offsets: the host that is known best comes next.
func (c *clocks) solve() error {
	first := c.machines[0]
	first.known = true
	for range len(c.machines) - 1 {
		from, to, best := -1, -1, time.Duration(math.MaxInt64)
		for pair, there := range c.fastest {
			back, ok := c.fastest[[2]int{pair[1], pair[0]}]
			if !ok || !c.machines[pair[0]].known || c.machines[pair[1]].known {
				continue
			}
			// Of equally good ones, always the same is taken.
			if bound := there + back; bound < best || bound == best && (pair[0] < from || pair[0] == from && pair[1] < to) {
				from, to, best = pair[0], pair[1], bound
			}
		}
		if from < 0 {
			break
		}
		there, back := c.fastest[[2]int{from, to}], c.fastest[[2]int{to, from}]
		m := c.machines[to]
		m.known = true
		m.Offset = c.machines[from].Offset + (back-there)/2
		m.Error = c.machines[from].Error + max(there+back, 0)/2
	}
	for _, m := range c.machines {
		if !m.known {
			m.Offset = (m.header.Wall - m.header.Monotonic) - (first.header.Wall - first.header.Monotonic)
			m.Error = -1
		}
		if far := m.Offset + m.header.Monotonic - first.header.Monotonic; far > timeMax || far < -timeMax {
			return fmt.Errorf("the clocks of %.80q and %.80q are years apart: these are files of different jobs", first.Host, m.Host)
		}
	}
	return nil
}

// shift is the duration to add to the times of a file.
func (c *clocks) shift(file int, h *Header) time.Duration {
	return h.Monotonic + c.machines[c.of[file]].Offset
}
