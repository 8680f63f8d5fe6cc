package dgramtest

import (
	"net/netip"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/seamtest"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
)

// A Factory makes the subject of one test. What its devices have in common (a
// simulated network, say) is made here and taken down with t.Cleanup.
type Factory func(t *testing.T) *Subject

// A Subject is a kind of device under test. Open and Addr are required.
type Subject struct {
	// Open opens another device; all devices of one Subject can reach each
	// other. The suite closes it.
	Open func() dgram.Device

	// Addr is an address of d, which Open made. It is not unspecified.
	Addr func(d dgram.Device) netip.Addr

	// Nobody is an address of none of the devices, of the same family as
	// Addr; the zero value means one from the ranges kept for documentation.
	Nobody netip.Addr

	// Step moves simulated time on, as far as something happens next, or a bit if
	// nothing is left to happen, which it reports. nil: time is real, and the
	// suite waits while nothing happens.
	Step func() (more bool)

	// Timeout is how long anything may take in real time; 0 means a minute, and ten times that with Step.
	Timeout time.Duration

	// Steps is how many Steps in a row anything may take; 0 means 1 000 000.
	Steps int

	// Allocates: moving datagrams allocates memory, so the suite does not check
	// that it does not.
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
