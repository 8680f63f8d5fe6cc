package about

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	for field, want := range map[string]string{
		"Sent": "sent", "BytesSent": "bytes_sent", "RDMACalls": "rdma_calls", "RoundTripP999": "round_trip_p999", "TLS": "tls", "NoCMA": "no_cma", "SHA256": "sha256",
	} {
		assert.Equal(t, want, nameOf(field))
	}
}

type inner struct {
	Lost int `about:"lost things"`
}

type traffic struct {
	Sent uint64 `about:"things sent"`
}

type counters struct {
	Name string `about:"-"`
	traffic
	Inner  inner         `about:"what is inside"`
	State  string        `about:"state" states:"IDLE,BUSY"`
	Spent  time.Duration `about:"time spent" class:"timer"`
	Median time.Duration `about:"median" name:"p50"`
	Silent uint64
}

func TestCounts(t *testing.T) {
	got := Counts("x", counters{Name: "n", traffic: traffic{3}, Inner: inner{-1}, State: "BUSY", Spent: 5, Median: 7, Silent: 9})
	assert.Equal(t, []Count{
		{Name: "x.sent", Text: "things sent", Class: Counter, Values: []uint64{3}},
		{Name: "x.inner.lost", Text: "lost things", Class: Level, Values: []uint64{0}},
		{Name: "x.state", Text: "state", Class: State, States: []string{"IDLE", "BUSY"}, Values: []uint64{1}},
		{Name: "x.spent", Text: "time spent", Class: Timer, Nanoseconds: true, Values: []uint64{5}},
		{Name: "x.p50", Text: "median", Class: Generic, Nanoseconds: true, Values: []uint64{7}},
	}, got)
	assert.Panics(t, func() {
		Counts("x", struct {
			F float64 `about:"no counter"`
		}{})
	})
}

type options struct {
	Limit int           `about:"most things"`
	After time.Duration `about:"when"`
	Name  string        `about:"what it is called" env:"ABOUT_TEST_NAME"`
	On    bool          `about:"whether"`
	Paths []string      `about:"where"`
	Key   []byte        `about:"whether there is a key"`
	Clock func()        `about:"-"`
}

func TestSettings(t *testing.T) {
	all := Settings("x", options{Limit: 2, After: time.Second, Name: "n", On: true, Paths: []string{"a", "b"}, Key: []byte{1}})
	assert.Equal(t, []Setting{
		{Name: "x.limit", Text: "most things", Value: 2},
		{Name: "x.after", Text: "when", Value: time.Second},
		{Name: "x.name", Text: "what it is called", Env: "ABOUT_TEST_NAME", Value: "n"},
		{Name: "x.on", Text: "whether", Value: true},
		{Name: "x.paths", Text: "where", Value: "a,b"},
		{Name: "x.key", Text: "whether there is a key", Value: true},
	}, all)
	wrong := errors.New("wrong")
	var set int
	Changeable(all, "x.limit", func(n int) error { set = n; return wrong })
	require.ErrorIs(t, all[0].Set(5), wrong)
	assert.Equal(t, 5, set)
	assert.Panics(t, func() { Changeable(all, "x.nothing", func(int) error { return nil }) })
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ABOUT_TEST_NAME", "secret")
	assert.Equal(t, "secret", FromEnv("x.name", "ABOUT_TEST_NAME", "a name").Value)
	assert.Equal(t, true, SecretFromEnv("x.key", "ABOUT_TEST_NAME", "whether there is a key").Value)
}

// TestValid: what an untrusted process says must look like what a trusted one says.
func TestValid(t *testing.T) {
	for _, c := range Counts("nic", counters{}) {
		assert.Equal(t, c.Class != State, c.Valid(), c.Name)
	}
	for what, change := range map[string]func(c *Count){
		"no name":         func(c *Count) { c.Name = "" },
		"a long name":     func(c *Count) { c.Name = strings.Repeat("x", nameBytesMax+1) },
		"a strange name":  func(c *Count) { c.Name = "nic.Sent" },
		"a long text":     func(c *Count) { c.Text = strings.Repeat("x", textBytesMax+1) },
		"no UTF-8":        func(c *Count) { c.Text = "\xff" },
		"an escape":       func(c *Count) { c.Text = "\x1b[2J" },
		"no value":        func(c *Count) { c.Values = nil },
		"several values":  func(c *Count) { c.Values = []uint64{1, 2} },
		"names of states": func(c *Count) { c.States = []string{"on"} },
		"no such class":   func(c *Count) { c.Class = Generic + 1 },
		"a watermark":     func(c *Count) { c.Class = HighWatermark },
	} {
		c := Count{Name: "nic.sent", Text: "things sent", Values: []uint64{1}}
		require.True(t, c.Valid())
		change(&c)
		assert.False(t, c.Valid(), what)
	}
}
