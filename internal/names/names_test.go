package names

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTargetsHaveOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"Node7:7000":           "node7:7000",
		"192.0.2.1:1":          "192.0.2.1:1",
		"[2001:DB8:0::1]:1":    "[2001:db8::1]:1",
		"[::ffff:192.0.2.1]:1": "192.0.2.1:1",
		":7000":                ":7000",
		"node:0":               "node:0",
	} {
		target, err := Parse(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, target.String(), in)
		again, err := Parse(want)
		require.NoError(t, err, want)
		assert.Equal(t, target, again)
	}
}

func TestBadTargetsSayWhatIsWrong(t *testing.T) {
	for in, says := range map[string]string{
		"node":                          "want HOST:PORT",
		"":                              "want HOST:PORT",
		"::1:1":                         "IPv6 address in brackets",
		"node:65536":                    "65536",
		"node:http":                     "http",
		"no de:1":                       "cannot stand",
		strings.Repeat("x", 254) + ":1": "254 bytes",
	} {
		_, err := Parse(in)
		assert.ErrorContains(t, err, says, in)
	}
}

func TestWhatIsKnownNeedsNobody(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1:1": "192.0.2.1:1",
		"localhost:1": "127.0.0.1:1",
		":1":          "127.0.0.1:1",
	} {
		target, err := Parse(in)
		require.NoError(t, err, in)
		require.NotEmpty(t, target.Known(), in)
		assert.Equal(t, netip.MustParseAddrPort(want), target.Known()[0], in)
	}
	assert.Empty(t, Target{Host: "node", Port: 1}.Known())
}

func TestAnswersWakeTheOneWhoAsked(t *testing.T) {
	var l Lookups[string]
	woken := make(chan struct{}, 2)
	l.Start(func() { woken <- struct{}{} })
	assert.False(t, l.Some())
	// An address in place of a name is answered without a name server.
	l.Ask("question", Target{Host: "127.0.0.1", Port: 7})
	<-woken
	assert.True(t, l.Some())
	assert.Equal(t, []Answer[string]{{
		For: "question", Addrs: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7")},
	}}, l.Take())
	assert.False(t, l.Some())
	assert.Empty(t, l.Take())
	l.Stop()
	l.Ask("too late", Target{Host: "nowhere.invalid", Port: 7})
	<-woken
	require.Len(t, l.Take(), 1)
	l.Stop()
}

func TestHost(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1":           "192.0.2.1/32",
		"::ffff:192.0.2.1":    "192.0.2.1/32",
		"2001:db8:1:2:3:4::5": "2001:db8:1:2::/64",
		"fe80::1%eth0":        "fe80::/64",
	} {
		assert.Equal(t, want, Host(netip.MustParseAddr(in)).String(), in)
	}
	assert.False(t, Host(netip.Addr{}).IsValid())
}
