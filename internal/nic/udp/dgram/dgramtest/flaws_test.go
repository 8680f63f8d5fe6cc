package dgramtest

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/verdict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// arrivals corrupts the results of Recv.
func arrivals(spoil func(a *dgram.Arrival)) func(dgram.Socket, []dgram.Arrival) int {
	return func(s dgram.Socket, batch []dgram.Arrival) int {
		n := s.Recv(batch)
		for i := range batch[:n] {
			spoil(&batch[i])
		}
		return n
	}
}

// packets corrupts the packets given to Send, or its results.
func packets(before, after func(p *dgram.Packet)) func(dgram.Socket, []dgram.Packet) (int, error) {
	return func(s dgram.Socket, batch []dgram.Packet) (int, error) {
		if before != nil {
			batch = slices.Clone(batch)
			for i := range batch {
				before(&batch[i])
			}
		}
		n, err := s.Send(batch)
		if after != nil {
			for i := range batch[:n] {
				after(&batch[i])
			}
		}
		return n, err
	}
}

// flawsOf are errors that a device can make, each with a test that must fail,
// because a suite that cannot fail proves nothing.
var flawsOf = map[string]struct {
	test string
	flaws
}{
	"a wrong byte":            {"datagrams arrive whole", flaws{recv: arrivals(func(a *dgram.Arrival) { a.Buf[a.Len-1]++ })}},
	"a byte short":            {"datagrams arrive whole", flaws{recv: arrivals(func(a *dgram.Arrival) { a.Len, a.Size = a.Len-1, min(a.Size, a.Len-1) })}},
	"groups not taken apart":  {"a batch of one size", flaws{recv: arrivals(func(a *dgram.Arrival) { a.Size = a.Len })}},
	"a size of nothing":       {"datagrams arrive whole", flaws{recv: arrivals(func(a *dgram.Arrival) { a.Size = 0 })}},
	"a size of too much":      {"datagrams arrive whole", flaws{recv: arrivals(func(a *dgram.Arrival) { a.Size = a.Len + 1 })}},
	"more than fits":          {"datagrams arrive whole", flaws{recv: arrivals(func(a *dgram.Arrival) { a.Len = len(a.Buf) + 1 })}},
	"another sender":          {"many to one", flaws{recv: arrivals(func(a *dgram.Arrival) { a.From = netip.AddrPortFrom(a.From.Addr(), 1) })}},
	"no sender":               {"a few bytes", flaws{recv: arrivals(func(a *dgram.Arrival) { a.From = netip.AddrPort{} })}},
	"IPv6's clothes":          {"a socket for both families", flaws{recv: arrivals(clothe)}},
	"more than the entries":   {"Recv one by one", flaws{recv: func(s dgram.Socket, b []dgram.Arrival) int { return s.Recv(b) * 100 }}},
	"the last is forgotten":   {"a batch of many sizes", flaws{recv: func(s dgram.Socket, b []dgram.Arrival) int { return max(s.Recv(b)-1, 0) }}},
	"pieces forgotten":        {"pieces", flaws{send: packets(func(p *dgram.Packet) { p.Pieces = p.Pieces[:min(len(p.Pieces), 4)] }, nil)}},
	"twice":                   {"random traffic, seed 3", flaws{send: twice}},
	"one is forgotten":        {"a batch larger than any group", flaws{send: forgetful}},
	"taken without a word":    {"a sender that does not stop", flaws{send: silent}},
	"ErrAgain without reason": {"datagrams arrive whole", flaws{send: grumpy}},
	"another error":           {"a sender that does not stop", flaws{send: other}},
	"TooBig stays":            {"a few bytes", flaws{send: packets(nil, func(p *dgram.Packet) { p.TooBig = true })}},
	"TooBig is not said":      {"too big", flaws{send: packets(nil, func(p *dgram.Packet) { p.TooBig = false })}},
	"one bad packet stops":    {"empty", flaws{send: stops}},
	"a small PathMTU":         {"PathMTU", flaws{mtu: 1}},
	"a large PathMTU":         {"PathMTU", flaws{mtu: dgram.PayloadMax + 1}},
	"a false PathMTU":         {"PathMTU", flaws{mtu: dgram.PayloadMax}},
	"wrong errors, in use":    {"address in use", flaws{open: vague}},
	"wrong errors, not here":  {"an address of another machine", flaws{open: vague}},
	"wrong errors, closed":    {"a closed device opens nothing", flaws{open: vague}},
	"no port":                 {"a socket has an address", flaws{addr: func(at netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(at.Addr(), 0) }}},
	"open for ever":           {"a closed socket", flaws{closes: func(dgram.Socket) error { return nil }}},
	"the address stays taken": {"address in use", flaws{closes: func(dgram.Socket) error { return nil }}},
	"wrong Sent":              {"a batch to many", flaws{stats: func(x *dgram.Stats) { x.Sent++ }}},
	"wrong Unsent":            {"too many pieces", flaws{stats: func(x *dgram.Stats) { x.Unsent = 0 }}},
	"wrong Full":              {"a sender that does not stop", flaws{stats: func(x *dgram.Stats) { x.Full = 0 }}},
	"wrong Received":          {"to oneself", flaws{stats: func(x *dgram.Stats) { x.Received = 1 }}},
	"no Overflowed":           {"a receiver that is not there", flaws{stats: func(x *dgram.Stats) { x.Overflowed = 0 }}},
	"no Truncated":            {"what does not fit is dropped", flaws{stats: func(x *dgram.Stats) { x.Truncated = 0 }}},
	"Arm sees nothing":        {"Arm refuses while there are arrivals", flaws{arm: ptr(true)}},
	"Arm sees ghosts":         {"a closed socket is no reason", flaws{arm: ptr(false)}},
	"Wake is lost":            {"Wake ends Sleep", flaws{wake: func(dgram.Sleeper) {}}},
	"Sleep is short":          {"Sleep ends in time", flaws{sleep: func(dgram.Sleeper, time.Duration) {}}},
	"Sleep is short at once":  {"Wake before Sleep ends the next one, once", flaws{sleep: func(dgram.Sleeper, time.Duration) {}}},
	"Sleep sees nothing":      {"an arrival between Arm and Sleep", flaws{sleep: func(_ dgram.Sleeper, d time.Duration) { <-time.After(d) }}},
	"Sleep sees no arrival":   {"an arrival ends Sleep", flaws{sleep: func(_ dgram.Sleeper, d time.Duration) { <-time.After(d) }}},
	"Sleep sees no room":      {"room ends Sleep", flaws{sleep: func(_ dgram.Sleeper, d time.Duration) { <-time.After(d) }}},
}

func clothe(a *dgram.Arrival) {
	a.From = netip.AddrPortFrom(netip.AddrFrom16(a.From.Addr().As16()), a.From.Port())
}

func twice(s dgram.Socket, batch []dgram.Packet) (int, error) {
	if _, err := s.Send(batch[:1]); err != nil {
		return 0, err
	}
	return s.Send(batch)
}

func forgetful(s dgram.Socket, batch []dgram.Packet) (int, error) {
	if len(batch) > 20 {
		_, err := s.Send(batch[1:])
		return len(batch), err
	}
	return s.Send(batch)
}

func silent(s dgram.Socket, batch []dgram.Packet) (int, error) {
	n, _ := s.Send(batch)
	return n, nil
}

func grumpy(s dgram.Socket, batch []dgram.Packet) (int, error) { return 0, dgram.ErrAgain }

func other(s dgram.Socket, batch []dgram.Packet) (int, error) {
	n, err := s.Send(batch)
	if err != nil {
		err = vague(err)
	}
	return n, err
}

func stops(s dgram.Socket, batch []dgram.Packet) (int, error) {
	for i, p := range batch {
		if len(p.Pieces) == 0 {
			n, _ := s.Send(batch[:i])
			return n, dgram.ErrAgain
		}
	}
	return s.Send(batch)
}

func TestTheSuiteSeesEveryFlaw(t *testing.T) {
	for name, c := range flawsOf {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(all(), func(x test) bool { return x.name == c.test })
			require.GreaterOrEqual(t, i, 0, "no test %q", c.test)
			mode := simdgram.Stepped
			if slices.ContainsFunc(sleepTests, func(x test) bool { return x.name == c.test }) {
				mode = simdgram.Real
			}
			right := play(all()[i], &flaws{}, mode, 10*time.Second)
			require.False(t, right.Failed(), "fails without the flaw: %s", right.Errors())
			assert.True(t, play(all()[i], &c.flaws, mode, 300*time.Millisecond).Failed(), "%q does not see it", c.test)
		})
	}
}

// play runs one test against flawed devices.
func play(c test, f *flaws, mode simdgram.Mode, timeout time.Duration) *verdict.T {
	return verdict.Run(c.name, func(t *verdict.T) { c.run(t, subjectOf(f, mode, timeout)) })
}

func ptr(b bool) *bool { return &b }
