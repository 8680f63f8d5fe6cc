//go:build linux

package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/programs"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// binaryVariable tells processes that the tests start where the plugin is.
const binaryVariable = "VIADUCT_CONFORMANCE_PLUGIN"

// TestMain builds the plugin and puts it where bmi.Open looks, for this process and those that it
// starts.
func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if os.Getenv(binaryVariable) == "" {
		folder, err := os.MkdirTemp("", "plugin-conformance-")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(folder)
		if err := build(folder); err != nil {
			return 1, err
		}
	}
	// Load it now, so that a test does not see additional goroutines.
	ep, err := bmi.Open(context.Background(), bmi.Config{})
	if err != nil {
		return 1, err
	}
	if err := ep.Close(); err != nil {
		return 1, err
	}
	code = methodtest.Main(m, nil)
	for _, p := range plugins.Loaded() {
		err = errors.Join(err, p.Unload(context.Background()))
	}
	return code, err
}

// build builds the plugin with our methods over VIA.
func build(folder string) error {
	path := filepath.Join(folder, "bmi-method-via")
	if err := programs.Build(folder, "cmd/bmi-method-via"); err != nil {
		return err
	}
	for name, value := range map[string]string{
		binaryVariable: path, "BMI_PLUGINS": path,
		"BMI_PLUGIN_ENV":  "VIADUCT_SHM_DIR,VIADUCT_UDP_KEY",
		"VIADUCT_SHM_DIR": filepath.Join(folder, "shm"), "VIADUCT_UDP_KEY": "correct horse battery staple",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return os.Mkdir(os.Getenv("VIADUCT_SHM_DIR"), 0o700)
}

// TestSHM runs the conformance suite over shared memory between endpoints with the method of a
// plugin. With -short that is half of it: all of it runs over via+shm in methods/via, and over each
// connection of a plugin and its program in internal/plugins/service.
func TestSHM(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	methodtest.RunTests(t, methodtest.All.Brief(0, 2), func(t methodtest.T) *methodtest.Subject {
		address := methodtest.Named("via+shm")
		return &methodtest.Subject{Address: address, Fork: methodtest.ForkSelf(address)}
	})
}

// TestUDP is TestSHM over datagrams with a key.
func TestUDP(t *testing.T) {
	methodtest.RunTests(t, methodtest.All.Brief(1, 4), func(t methodtest.T) *methodtest.Subject {
		address := methodtest.UDPPorts(t, "via+udp")
		return &methodtest.Subject{Address: address, Fork: methodtest.ForkSelf(address)}
	})
}
