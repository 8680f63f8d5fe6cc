package bmi_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// observed collects events.
type observed struct {
	mu  sync.Mutex
	all []bmi.Event
}

func (o *observed) take(e bmi.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, e)
}

func (o *observed) are(t *testing.T, want ...bmi.Event) {
	t.Helper()
	require.Eventually(t, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return assert.ObjectsAreEqual(want, o.all)
	}, wallclock.Patience, time.Millisecond)
}

// TestObserve: each observer sees what methods report, until it stops.
func TestObserve(t *testing.T) {
	open := func(network *bmitest.Network, name string) *bmi.Endpoint {
		e, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"mem://" + name}, Options: map[string]any{bmitest.Name: bmitest.Options{Network: network}}})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, e.Close()) })
		return e
	}
	network := bmitest.NewNetwork()
	a := open(network, "a")
	open(network, "b")
	c, err := a.OpenContext()
	require.NoError(t, err)
	to, err := a.Lookup("mem://b")
	require.NoError(t, err)
	send := func() { require.NoError(t, c.SendUnexpected(context.Background(), to, 0, 0, nil)) }

	connected, disconnected := bmi.Event{Kind: bmi.Connected, Method: "mem", Peer: "mem://b"}, bmi.Event{Kind: bmi.Disconnected, Method: "mem", Peer: "mem://b"}
	var one, two observed
	stop := a.Observe(one.take)
	defer a.Observe(two.take)()
	send()
	one.are(t, connected)
	two.are(t, connected)
	stop()
	stop() // does nothing
	require.True(t, network.Cut("a", "b"))
	two.are(t, connected, disconnected)
	one.are(t, connected)
}

// settingOf returns a setting.
func settingOf(t *testing.T, all []about.Setting, name string) about.Setting {
	t.Helper()
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	require.Fail(t, "there is no setting "+name)
	return about.Setting{}
}

// TestSettings: reported settings are those that the endpoint uses, and changes of changeable
// settings take effect.
func TestSettings(t *testing.T) {
	e, err := bmi.Open(t.Context(), bmi.Config{SpinMax: -1, Limits: bmi.Limits{UnexpectedMessages: 7}})
	require.NoError(t, err)
	defer func() { assert.NoError(t, e.Close()) }()
	assert.Equal(t, time.Duration(-1), settingOf(t, e.Settings(), "bmi.spin_max").Value)
	assert.Equal(t, 7, settingOf(t, e.Settings(), "bmi.limits.unexpected_messages").Value)
	assert.Equal(t, 1<<16, settingOf(t, e.Settings(), "bmi.limits.pending_ops").Value)
	assert.Nil(t, settingOf(t, e.Settings(), "bmi.limits.pending_ops").Set)
	require.NoError(t, settingOf(t, e.Settings(), "bmi.spin_max").Set(time.Duration(0)))
	assert.Equal(t, 400*time.Microsecond, settingOf(t, e.Settings(), "bmi.spin_max").Value, "the default")
	bytes := settingOf(t, e.Settings(), "bmi.limits.unexpected_bytes")
	require.ErrorIs(t, bytes.Set(0), bmi.ErrInvalid)
	require.NoError(t, bytes.Set(9))
	assert.Equal(t, 9, settingOf(t, e.Settings(), "bmi.limits.unexpected_bytes").Value)
	assert.Equal(t, 7, settingOf(t, e.Settings(), "bmi.limits.unexpected_messages").Value)
}
