package emulated

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/programs"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// emulator is the path of qemu-user for arm64.
func emulator(t *testing.T) string { return need.Program(t, "qemu-aarch64", "qemu-aarch64-static") }

// compile runs the go command for arm64 with a package, as tests without the race detector do.
func compile(t *testing.T, folder string, args ...string) {
	t.Helper()
	t.Setenv("GOOS", "linux")
	t.Setenv("GOARCH", "arm64")
	t.Setenv("GOARM64", "v8.0")
	_, err := programs.Go([]string{folder}, append(args, "../../"+folder)...)
	require.NoError(t, err)
}

// TestPackagesOnARM64 runs the tests of packages whose code depends on the processor.
func TestPackagesOnARM64(t *testing.T) {
	if runtime.GOARCH == "arm64" {
		t.Skip("this machine runs all tests on arm64")
	}
	qemu, bin := emulator(t), t.TempDir()
	for _, p := range []struct{ folder, run, skip string }{
		{"bmi", "", ""}, // the method in memory
		{"internal/netpoll", "", ""},
		{"internal/spin", "", ""},
		{"methods/tcp", "^TestConformance$", "/^Fork"},
		{"internal/tcp/stack/kernel", "", ""},
		{"methods/via", "^TestConformanceSHM$", "/^Fork"},
		{"mpi/rma/internal/apply", "", ""},
		{"internal/plugins/ring", "", ""},
		{"pvfs/proto", "", ""},
		{"internal/pvfs/store/blocksum", "", ""},
	} {
		t.Run(p.folder, func(t *testing.T) {
			binary := filepath.Join(bin, strings.ReplaceAll(p.folder, "/", "_"))
			compile(t, p.folder, "test", "-c", "-pgo=off", "-vet=off", "-o", binary)
			ctx, cancel := context.WithTimeout(t.Context(), 2*wallclock.Patience)
			defer cancel()
			args := []string{binary, "-test.short", "-test.run=" + p.run}
			if p.skip != "" {
				args = append(args, "-test.skip="+p.skip)
			}
			cmd := exec.CommandContext(ctx, qemu, args...)
			cmd.Dir = filepath.Join("../..", p.folder)
			cmd.Env = append(os.Environ(), "VIADUCT_SHM_DIR="+filepath.Join(t.TempDir(), "shm"))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), "PASS")
			require.NotContains(t, string(out), "no tests to run")
		})
	}
}

// TestAProgramOnARM64: bmi starts, and opens a method.
func TestAProgramOnARM64(t *testing.T) {
	qemu, bin := emulator(t), t.TempDir()
	compile(t, "cmd/bmi", "build", "-pgo=off", "-o", bin+"/")
	out, err := exec.Command(qemu, filepath.Join(bin, "bmi"), "--version").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), " linux/arm64\n")
	out, err = exec.Command(qemu, filepath.Join(bin, "bmi"), "info", "tcp").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "largest message")
}
