package plugins

import "github.com/viaduct-hpc/viaduct/bmi"

// uncounted is a session whose plugin keeps no counters: it reports none rather than zeros.
type uncounted struct {
	bmi.Method
	bmi.Sleeper
	bmi.Deadliner
	bmi.Allocator
	bmi.Dropper
	bmi.Checker
	bmi.Ranger
}

// method returns the session as the endpoint sees it.
func (s *session) method() bmi.Method {
	if s.first.counts {
		return s
	}
	return uncounted{s, s, s, s, s, s, s}
}
