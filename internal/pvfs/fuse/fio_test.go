package fuse_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// A workload is a run of fio, which writes checksums into every block. A strip has 64 KiB, and blocks of every size cross its
// limits.
type workload struct {
	name  string
	args  []string
	size  int // bytes of each job, a number of whole blocks
	short int // for -short
	// later: another mount verifies, too. fio can do that only if nothing was written twice.
	later bool
	// each: with -short it runs over every method, not only over the first one.
	each bool
}

var workloads = []workload{
	{"buffered, blocks of all sizes", []string{"--rw=randrw", "--ioengine=psync", "--bsrange=1k-200k", "--bs_unaligned", "--numjobs=3"}, 6 << 20, 1 << 20, false, false},
	{"buffered, one after the other", []string{"--rw=write", "--ioengine=sync", "--bs=65000", "--numjobs=2", "--end_fsync=1"}, 6_500_000, 1_300_000, true, true},
	{"direct, many at once", []string{"--rw=randrw", "--ioengine=libaio", "--iodepth=16", "--direct=1", "--bsrange=4k-256k", "--blockalign=4k", "--numjobs=2"}, 6 << 20, 1 << 20, false, true},
	{"direct, blocks of one size", []string{"--rw=randwrite", "--ioengine=libaio", "--iodepth=8", "--direct=1", "--bs=96k"}, 6 << 20, 96 * 16 << 10, true, false},
	{"mapped", []string{"--rw=randrw", "--ioengine=mmap", "--bs=4k", "--numjobs=2", "--fsync=64"}, 3 << 20, 1 << 20, false, false},
	{"synchronous", []string{"--rw=randwrite", "--ioengine=sync", "--sync=1", "--bs=12k"}, 2040 << 10, 360 << 10, true, false},
	{"several in one file", []string{"--rw=randrw", "--ioengine=psync", "--bs=20k", "--filename=shared", "--offset_increment=2m", "--numjobs=3"}, 2 << 20, 1 << 20, false, false},
}

// TestFIO runs fio with verification.
func TestFIO(t *testing.T) {
	program := need.Program(t, "fio")
	first := true
	onServers(t, func(t *testing.T, b *bench) {
		other := b.again(t, client.Options{}, fuse.Options{AllowOther: os.Geteuid() == 0})
		for i, w := range workloads {
			if testing.Short() && !first && !w.each {
				continue
			}
			t.Run(w.name, func(t *testing.T) {
				size := w.size
				if testing.Short() {
					size = w.short
				}
				// Each has names of its own, because a mount may cache a name for a second.
				name, args := fmt.Sprint("job", i), append([]string{fmt.Sprintf("--size=%d", size)}, w.args...)
				runFIO(t, program, b.work, name, args)
				if w.later {
					runFIO(t, program, other.work, name, append([]string{"--verify_only"}, args...))
				}
				removeFiles(t, b.work)
			})
		}
		first = false
	})
}

func runFIO(t *testing.T, program, dir, name string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), far)
	defer cancel()
	args = append([]string{
		"--name=" + name, "--directory=" + dir, "--thread=0", "--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0",
		"--randseed=7", "--group_reporting", "--output-format=terse", "--fallocate=none",
	}, args...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir() // for fio's files about errors
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "fio %q: %s", args, out)
}

// removeFiles removes the files in a directory.
func removeFiles(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.Remove(dir+"/"+e.Name()))
	}
}
