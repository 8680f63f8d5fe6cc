package watch

import "github.com/viaduct-hpc/viaduct/bmi/about"

// A Source is an open object (about.Opened) with something to show. A nil function shows nothing. The
// functions can be called at any time, by any goroutine.
type Source struct {
	Counts func() []about.Count
	Server func() *Server
	Rank   func() *Rank
}

// Open shows the source in snapshots until it is closed.
func (s *Source) Open() (closed func()) { return about.Opened(s) }
