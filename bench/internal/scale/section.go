package scale

import (
	"fmt"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/collsim"
)

// heading begins the section.
const heading = "## Collective operations in simulation"

// network is what is simulated: a latency and an overhead as via+udp has them, and 100 Gbit/s.
var network = collsim.Network{
	RanksPerHost: 32,
	Between:      collsim.Link{Latency: 10 * time.Microsecond, Overhead: time.Microsecond, Bandwidth: 12.5e9},
	HeaderBytes:  100,
	Within:       collsim.Link{Latency: 200 * time.Nanosecond, Overhead: 100 * time.Nanosecond, Bandwidth: 10e9},
}

// ranks are the sizes of the jobs, multiples of network.RanksPerHost.
var ranks = []int{64, 1024, 16_384, 100_000}

const introduction = `Simulated by ` + "`go run ./bench/collectives`" + ` in virtual time, not measured: the algorithms of package ` + "`mpi/coll`" + ` as they are, message by
message. The machine: %v.
Packing, and the combining of numbers, take no time.

*Flat* is the time of the algorithms if they do not know the hosts, *hosts known* that of those that are chosen for this machine.
The *textbook bounds* are ⌈log₂ p⌉ α for the rounds, and for the bytes m/B (bcast), 2 (p−1)/p m/B (allreduce) and L (p−L) m/B (alltoall,
where L ranks share a link); p is the number of ranks, α = %v a message between hosts, B a host's link. In *with hosts*,
the rounds are ⌈log₂ h⌉ α + ⌈log₂ L⌉ α', for h hosts and α' = %v within a host. Flat times can be below the first bound, because many of
their messages stay within a host, and both below the rounds, because a rank sends again before its message has arrived. An alltoall of 8 B to each rank is done by Bruck's algorithm, or between leaders; a direct one of
100,000 ranks would be 10¹⁰ messages, so alltoall of more is simulated on up to 1,024 ranks, where it is direct.

| operation | ranks | hosts | flat | hosts known | messages between hosts: flat, known | textbook bound | bound with hosts |
| --- | --- | --- | --- | --- | --- | --- | --- |
`

// Section simulates all operations and returns the section as Markdown.
func Section() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", heading)
	fmt.Fprintf(&b, introduction, network, network.Between.Alpha(), network.Within.Alpha())
	for _, o := range operations {
		for _, p := range ranks {
			if o.ranksMax > 0 && p > o.ranksMax {
				continue
			}
			if err := row(&b, o, p); err != nil {
				return "", fmt.Errorf("%s on %d ranks: %w", o.name, p, err)
			}
		}
	}
	return b.String(), nil
}

func row(b *strings.Builder, o operation, p int) error {
	flat, err := collsim.Run(network, o.job(p, false))
	if err != nil {
		return err
	}
	known, err := collsim.Run(network, o.job(p, true))
	if err != nil {
		return err
	}
	hosts := p / network.RanksPerHost
	rounds := time.Duration(collsim.Rounds(p)) * network.Between.Alpha()
	few := time.Duration(collsim.Rounds(hosts))*network.Between.Alpha() +
		time.Duration(collsim.Rounds(network.RanksPerHost))*network.Within.Alpha()
	fmt.Fprintf(b, "| %s | %d | %d | %s | %s | %d, %d | %s | %s |\n", o.name, p, hosts, micros(flat.Time), micros(known.Time),
		flat.Between, known.Between, micros(rounds+onLink(o.linkBytes(p))), micros(few+onLink(o.linkBytes(p))))
	return nil
}

// onLink returns the time of bytes on a host's link.
func onLink(bytes float64) time.Duration {
	return time.Duration(bytes / network.Between.Bandwidth * float64(time.Second))
}

// micros writes a time with three digits or more.
func micros(d time.Duration) string {
	us := float64(d) / float64(time.Microsecond)
	if us < 100 {
		return fmt.Sprintf("%.1f µs", us)
	}
	return fmt.Sprintf("%.0f µs", us)
}

// Replace replaces the section in the text of a results.md. A text without one gets it before its
// counts.
func Replace(text, section string) string {
	const next = "\n## "
	before, after, found := strings.Cut(text, "\n"+heading+"\n")
	if !found {
		const counts = "\n## Counts\n"
		before, after, found = strings.Cut(text, counts)
		if !found {
			return text + "\n" + section
		}
		return before + "\n" + section + counts + after
	}
	if _, rest, more := strings.Cut(after, next); more {
		return before + "\n" + section + next + rest
	}
	return before + "\n" + section
}
