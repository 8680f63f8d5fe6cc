package plugins

import "github.com/viaduct-hpc/viaduct/bmi"

// uncounted is a session whose plugin does not count: it has no counters, rather than
// counters that say 0.
type uncounted struct {
	bmi.Method
	bmi.Sleeper
	bmi.Deadliner
	bmi.Allocator
	bmi.Dropper
	bmi.Checker
	bmi.Ranger
}

// method is the session as its endpoint sees it.
func (s *session) method() bmi.Method {
	if s.first.counts {
		return s
	}
	return uncounted{s, s, s, s, s, s, s}
}
