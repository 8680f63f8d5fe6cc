package collsim

import (
	"fmt"
	"math/bits"
	"time"
)

// A Network is a model of a machine. Every message between hosts takes
//
//	Between.Overhead, on the sending rank
//	the time for its bytes and a header on the link out of the sender's host, once that
//	link is free
//	Between.Latency
//	the time for the same bytes on the link into the receiver's host, once that is free,
//	from the arrival of the first byte on
//	Between.Overhead, on the receiving rank
//
// A message within a host takes Within.Overhead and the time to copy its bytes on the
// sending rank, Within.Latency, and Within.Overhead on the receiving rank. Ranks of one
// host do not slow each other down there. A send is done when its bytes have left the
// sender, whether or not they are received.
type Network struct {
	RanksPerHost int // consecutive ranks
	// Between hosts, Bandwidth is that of a host's link in each direction; Within a host,
	// that of a rank that copies to another.
	Between, Within Link
	HeaderBytes     int // of a message between hosts
}

// A Link is how messages travel.
type Link struct {
	Latency, Overhead time.Duration
	Bandwidth         float64 // bytes per second
}

func (l Link) String() string {
	return fmt.Sprintf("latency %v, %v of overhead on each side of a message, %.3g GB/s", l.Latency, l.Overhead, l.Bandwidth/1e9)
}

func (l Link) valid() bool { return l.Latency >= 0 && l.Overhead >= 0 && l.Bandwidth > 0 }

// Alpha returns the time of a message without bytes and header.
func (l Link) Alpha() time.Duration { return l.Latency + 2*l.Overhead }

// String describes the network in words.
func (n Network) String() string {
	return fmt.Sprintf("%d consecutive ranks per host; between hosts: %v per host and direction, shared by its ranks, and a header of %d B; within a host: %v per rank",
		n.RanksPerHost, n.Between, n.HeaderBytes, n.Within)
}

func (n Network) check() error {
	if n.RanksPerHost < 1 || n.HeaderBytes < 0 || !n.Between.valid() || !n.Within.valid() {
		return fmt.Errorf("collsim: a network needs ranks, bandwidth, and no negative times: %+v", n)
	}
	return nil
}

// Rounds returns ceil(log2 p), in how many rounds of messages p ranks can learn of each
// other if each sends one message at a time.
func Rounds(p int) int { return bits.Len(uint(p - 1)) }

// picos counts time in picoseconds, fine enough for a byte on a fast link, exact, and
// enough for 100 days.
type picos int64

func inPicos(d time.Duration) picos { return picos(d) * 1000 }

func (t picos) duration() time.Duration { return time.Duration((t + 500) / 1000) }

// on returns the time that bytes take at a bandwidth.
func on(bandwidth float64, bytes int) picos { return picos(float64(bytes)*1e12/bandwidth + 0.5) }
