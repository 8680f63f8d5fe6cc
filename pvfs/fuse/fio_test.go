package fuse_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/fuse"
)

// needFIO is the program fio; the test skips where there is none.
func needFIO(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("fio")
	if err == nil {
		return program
	}
	if os.Getenv("VIADUCT_FIO") == "must" {
		t.Fatalf("VIADUCT_FIO=must, but: %v", err)
	}
	t.Skipf("fio is missing, which is in Debian's package of that name: %v", err)
	return ""
}

// A workload is what fio does, with checksums in every block that it writes. A strip has 64 KiB: blocks of every size
// lie across the borders.
type workload struct {
	name string
	args []string
	// later: another mount verifies, too. fio can say what was written where only if nothing was written twice.
	later bool
}

var workloads = []workload{
	{"buffered, blocks of all sizes", []string{"--rw=randrw", "--ioengine=psync", "--bsrange=1k-200k", "--bs_unaligned", "--size=6m", "--numjobs=3"}, false},
	{"buffered, one after the other", []string{"--rw=write", "--ioengine=sync", "--bs=65000", "--size=6500000", "--numjobs=2", "--end_fsync=1"}, true},
	{"direct, many at once", []string{"--rw=randrw", "--ioengine=libaio", "--iodepth=16", "--direct=1", "--bsrange=4k-256k", "--blockalign=4k", "--size=6m", "--numjobs=2"}, false},
	{"direct, blocks of one size", []string{"--rw=randwrite", "--ioengine=libaio", "--iodepth=8", "--direct=1", "--bs=96k", "--size=6m"}, true},
	{"mapped", []string{"--rw=randrw", "--ioengine=mmap", "--bs=4k", "--size=3m", "--numjobs=2", "--fsync=64"}, false},
	{"synchronous", []string{"--rw=randwrite", "--ioengine=sync", "--sync=1", "--bs=12k", "--size=2040k"}, true},
	{"several in one file", []string{"--rw=randrw", "--ioengine=psync", "--bs=20k", "--filename=shared", "--size=2m", "--offset_increment=2m", "--numjobs=3"}, false},
}

// TestFIO runs fio with verification.
func TestFIO(t *testing.T) {
	program := needFIO(t)
	onServers(t, func(t *testing.T, b *bench) {
		other := b.again(t, client.Options{}, fuse.Options{AllowOther: os.Geteuid() == 0})
		for _, w := range workloads {
			t.Run(w.name, func(t *testing.T) {
				runFIO(t, program, b.work, w.args)
				if w.later {
					runFIO(t, program, other.work, append([]string{"--verify_only"}, w.args...))
				}
				removeFiles(t, b.work)
			})
		}
	})
}

func runFIO(t *testing.T, program, dir string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), far)
	defer cancel()
	args = append([]string{
		"--name=job", "--directory=" + dir, "--thread=0", "--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0",
		"--randseed=7", "--group_reporting", "--output-format=terse", "--fallocate=none",
	}, args...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir() // where it leaves what it finds wrong
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
