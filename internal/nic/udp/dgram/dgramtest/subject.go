package dgramtest

import (
	"net/netip"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/seamtest"
)

// A Factory makes the subject of one test. Resources common to its devices (a simulated network, say) are
// made here and removed with t.Cleanup.
type Factory func(t *testing.T) *Subject

// A Subject is a kind of device under test. Open and Addr are required.
type Subject struct {
	// Open opens another device; all devices of one Subject can reach each
	// other. The suite closes it.
	Open func() dgram.Device

	// Addr is an address of d, which Open made. It is not unspecified.
	Addr func(d dgram.Device) netip.Addr

	// Nobody is an address that no device has, of the same family as Addr; the zero value means one from
	// the ranges reserved for documentation.
	Nobody netip.Addr

	// Step advances simulated time to the next event, or by a little if there is none; more reports
	// whether there is one. nil: time is real, and the suite waits while nothing happens.
	Step func() (more bool)

	// Timeout is how long anything may take in real time; 0 means a minute, and ten times that with Step.
	Timeout time.Duration

	// Steps is how many Steps in a row anything may take; 0 means 1 000 000.
	Steps int

	// Allocates: moving datagrams allocates memory, so the suite does not check allocations.
	Allocates bool
}

func (s *Subject) timeout() time.Duration { return seamtest.Timeout(s.Timeout, s.Step != nil) }

func (s *Subject) steps() int { return seamtest.Steps(s.Steps) }

// nobody is an address that no device has.
func (s *Subject) nobody(like netip.Addr) netip.Addr {
	switch {
	case s.Nobody.IsValid():
		return s.Nobody
	case like.Is4():
		return netip.MustParseAddr("192.0.2.1")
	default:
		return netip.MustParseAddr("2001:db8::1")
	}
}
