package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// TestConformanceAsPlugin runs the suite through the plugin, in a process of its own. Its
// method has another name here, as this process has one of that name already.
func TestConformanceAsPlugin(t *testing.T) {
	if testing.Short() {
		t.Skip("soak: it builds the plugin")
	}
	path := filepath.Join(t.TempDir(), "bmi-method-"+scheme)
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	p, err := plugins.Load(t.Context(), path, plugins.Options{Names: map[string]string{scheme: "plugged"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Unload(t.Context())) }()
	methodtest.Run(t, func(methodtest.T) *methodtest.Subject {
		return &methodtest.Subject{Address: func(name string) string { return "plugged://" + name }}
	})
}
