package hosts

import (
	"strconv"
	"strings"
)

// A Map is a way of placing ranks on hosts. Its zero value fills the slots of one host after the
// other.
type Map struct {
	// RoundRobin gives each host one rank at a time.
	RoundRobin bool
	// PerHost is how many ranks each host gets before the next one; 0 means its slots.
	PerHost int
}

// ParseMap parses node, slot, core or ppr:N:node.
func ParseMap(text string) (Map, error) {
	switch text {
	case "slot", "core":
		return Map{}, nil
	case "node":
		return Map{RoundRobin: true}, nil
	}
	if number, ok := strings.CutPrefix(text, "ppr:"); ok {
		if number, ok = strings.CutSuffix(number, ":node"); ok {
			if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= SlotsMax {
				return Map{PerHost: n}, nil
			}
		}
	}
	return Map{}, bad("ranks are mapped by node, slot, core or ppr:N:node, not by %.60q", text)
}

// Slots is the default number of ranks of a job.
func (m Map) Slots(hosts []Host) (n int) {
	for _, h := range hosts {
		n += m.per(h)
	}
	return n
}

func (m Map) per(h Host) int {
	if m.PerHost > 0 {
		return m.PerHost
	}
	return h.Slots
}

// Place returns the number of the host of each of n ranks. If there are more ranks than slots, it
// begins again with the first host.
func (m Map) Place(hosts []Host, n int) []int {
	at := make([]int, 0, n)
	if !m.RoundRobin {
		for len(at) < n {
			for i, h := range hosts {
				for range min(m.per(h), n-len(at)) {
					at = append(at, i)
				}
			}
		}
		return at
	}
	for round := 0; len(at) < n; round++ {
		before := len(at)
		for i, h := range hosts {
			if len(at) < n && round < m.per(h) {
				at = append(at, i)
			}
		}
		if len(at) == before {
			round = -1 // all slots are taken
		}
	}
	return at
}
