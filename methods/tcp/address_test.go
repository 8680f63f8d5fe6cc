package tcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

func TestAddressesHaveOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"tcp://127.0.0.1:3334":                 "tcp://127.0.0.1:3334",
		"tcp://Node-1.Example.org:3334":        "tcp://node-1.example.org:3334",
		"tcp://[::1]:1":                        "tcp://[::1]:1",
		"tcp://[0:0::0:1]:1":                   "tcp://[::1]:1",
		"tcp://[::ffff:10.0.0.1]:65535":        "tcp://10.0.0.1:65535",
		"tcp://[fe80::1%eth0]:5":               "tcp://[fe80::1%eth0]:5",
		"tcp://:3334":                          "tcp://:3334",
		"tcp://a:1,tcp://b:2,tcp://10.0.0.1:3": "tcp://a:1,tcp://b:2,tcp://10.0.0.1:3",
		"tcp://under_score:7":                  "tcp://under_score:7",
	} {
		targets, err := parseAddress("tcp", in)
		require.NoError(t, err, in)
		assert.Equal(t, want, format("tcp", targets), in)
		again, err := parseAddress("tcp", want)
		require.NoError(t, err, "its text can be looked up: %s", want)
		assert.Equal(t, targets, again)
	}
}

func TestBadAddressesSayWhatIsWrong(t *testing.T) {
	for in, says := range map[string]string{
		"tcp://host":       "want tcp://HOST:PORT",
		"tcp://":           "want tcp://HOST:PORT",
		"tcp:/host:1":      "want tcp://HOST:PORT",
		"udp://host:1":     "want tcp://HOST:PORT",
		"tcp://host:0":     "port 0 is only for listening",
		"tcp://host:65536": `port "65536" is no number from 1 to 65535`,
		"tcp://host:http":  `port "http"`,
		"tcp://host:-1":    `port "-1"`,
		"tcp://::1:1":      "IPv6 address in brackets",
		"tcp://ho st:1":    `' ' cannot stand in a host name`,
		"tcp://ho/st:1":    `'/' cannot`,
		"tcp://a:1,b:2":    `"b:2"`,
		"tcp://a:1,":       `""`,
		"tcp://" + strings.Repeat("x", 254) + ":1":     "254 bytes",
		strings.Repeat("tcp://a:1,", 16) + "tcp://a:1": "17 alternatives, at most 16",
	} {
		_, err := parseAddress("tcp", in)
		require.ErrorIs(t, err, bmi.ErrBadAddress, in)
		assert.ErrorContains(t, err, says, in)
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		address, pattern string
		in               bool
	}{
		{"tcp://10.1.2.3:3334", "tcp://10.1.2.3:3334", true},
		{"tcp://10.1.2.3:3334", "10.1.2.3", true},
		{"tcp://10.1.2.3:3334", "tcp://10.1.*.*", true},
		{"tcp://10.1.2.3:3334", "tcp://10.1.*.*:3334", true},
		{"tcp://10.1.2.3:3334", "tcp://10.1.*.*:3335", false},
		{"tcp://10.1.2.3:3334", "tcp://*:333?", true},
		{"tcp://10.1.2.3:3334", "tcp://10.2.*", false},
		{"tcp://10.1.2.3:3334", "tcp://10.0.0.0/8", true},
		{"tcp://10.1.2.3:3334", "tcp://10.0.0.0@8", true},
		{"tcp://10.1.2.3:3334", "tcp://10.0.0.0/8:3334", true},
		{"tcp://10.1.2.3:3334", "tcp://10.0.0.0/8:1", false},
		{"tcp://10.1.2.3:3334", "tcp://10.1.3.0/24", false},
		{"tcp://[fd00::7]:3334", "tcp://[fd00::]/8", true},
		{"tcp://[fd00::7]:3334", "tcp://[fd00::]/8:3334", true},
		{"tcp://[fd00::7]:3334", "tcp://[fd00::]/8:1", false},
		{"tcp://[fd00::7]:3334", "fd00::7", true},
		{"tcp://[fd00::7]:3334", "fe80::/10", false},
		{"tcp://io7.cluster:3334", "tcp://io*.cluster", true},
		{"tcp://io7.cluster:3334", "tcp://10.0.0.0/8", false},
		{"tcp://io7.cluster:1,tcp://10.0.0.7:1", "tcp://10.0.0.0/8", true},
	} {
		targets, err := parseAddress("tcp", c.address)
		require.NoError(t, err)
		in, err := inRange("tcp", targets, c.pattern)
		require.NoError(t, err, c.pattern)
		assert.Equal(t, c.in, in, "%s in %s", c.address, c.pattern)
	}
	targets, err := parseAddress("tcp", "tcp://10.1.2.3:3334")
	require.NoError(t, err)
	for _, bad := range []string{"10.0.0.0/99", "10.0.0.0@x", "io[", "*:33["} {
		_, err := inRange("tcp", targets, bad)
		assert.ErrorIs(t, err, bmi.ErrInvalid, bad)
	}
}
