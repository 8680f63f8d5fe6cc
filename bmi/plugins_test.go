package bmi_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

func TestOpenWithPluginsWithoutALoader(t *testing.T) {
	_, err := bmi.Open(context.Background(), bmi.Config{Plugins: []string{"./bmi-method-x"}})
	require.ErrorContains(t, err, "bmi: cannot load plugin ./bmi-method-x: this program cannot load any, import ")
	assert.ErrorContains(t, err, "viaduct/plugins")
}

// TestOpenLoadsPluginsFirst: a plugin's method is registered before the endpoint's
// methods open.
func TestOpenLoadsPluginsFirst(t *testing.T) {
	t.Cleanup(bmi.ForgetLoader)
	var asked [][]string
	bmi.RegisterLoader(func(_ context.Context, paths []string, log *slog.Logger) error {
		asked = append(asked, paths)
		log.Info("a loader always has a log")
		if len(paths) == 0 {
			return nil
		}
		return bmi.Add(late{})
	})
	t.Cleanup(func() { bmi.Remove(late{}) })

	ep, err := bmi.Open(context.Background(), bmi.Config{})
	require.NoError(t, err)
	require.NoError(t, ep.Close())
	_, err = bmi.Open(context.Background(), bmi.Config{Methods: []string{"late"}})
	require.ErrorIs(t, err, bmi.ErrUnknownMethod)
	ep, err = bmi.Open(context.Background(), bmi.Config{Methods: []string{"late"}, Plugins: []string{"there"}})
	require.NoError(t, err)
	require.NoError(t, ep.Close())
	assert.Equal(t, [][]string{nil, nil, {"there"}}, asked)
}

func TestOpenFailsWhereAPluginDoes(t *testing.T) {
	t.Cleanup(bmi.ForgetLoader)
	broken := errors.New("plugins: broken")
	bmi.RegisterLoader(func(context.Context, []string, *slog.Logger) error { return broken })
	_, err := bmi.Open(context.Background(), bmi.Config{Plugins: []string{"there"}})
	require.ErrorIs(t, err, broken)
	assert.EqualError(t, err, "plugins: broken")
	assert.Panics(t, func() { bmi.RegisterLoader(nil) }, "a second one")
}

// late is a method that is not registered from the start.
type late struct{ nullDriver }

func (late) Name() string { return "late" }
