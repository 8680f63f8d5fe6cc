package bmi_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// reloading is a method whose keys take as long to read as the test wants.
type reloading struct {
	bmi.Method
	read func() error
	used int
}

func (*reloading) KeyFiles() []string { return []string{"keys"} }

func (m *reloading) Reload() (use func(), err error) { return func() { m.used++ }, m.read() }

// reloadingDriver opens a given method.
type reloadingDriver struct {
	nullDriver
	method *reloading
}

func (*reloadingDriver) Name() string { return "reloading" }

func (d *reloadingDriver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	m, err := d.nullDriver.Open(ctx, cfg)
	d.method.Method = m
	return d.method, err
}

// TestReloadHoldsNoLock: while a method reads its keys it carries messages, and it uses the keys only if they are good.
func TestReloadHoldsNoLock(t *testing.T) {
	m := &reloading{}
	d := &reloadingDriver{method: m}
	require.NoError(t, bmi.Add(d))
	t.Cleanup(func() { bmi.Remove(d) })
	ep, err := bmi.Open(t.Context(), bmi.Config{Methods: []string{"reloading"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"keys"}, ep.KeyFiles())
	m.read = func() error {
		_, err := ep.Lookup("reloading://x") // it takes the method's lock, and would wait for ever
		return err
	}
	methods, err := ep.ReloadKeys()
	require.NoError(t, err)
	assert.Equal(t, []string{"reloading"}, methods)
	assert.Equal(t, 1, m.used)

	bad := errors.New("no key at all")
	m.read = func() error { return bad }
	methods, err = ep.ReloadKeys()
	require.ErrorIs(t, err, bad)
	require.ErrorContains(t, err, "the keys of reloading are as before")
	assert.Empty(t, methods)
	assert.Equal(t, 1, m.used)

	require.NoError(t, ep.Close())
	m.read = func() error { return nil }
	methods, err = ep.ReloadKeys()
	require.NoError(t, err)
	assert.Empty(t, methods)
	assert.Equal(t, 1, m.used, "the method is closed")
}
