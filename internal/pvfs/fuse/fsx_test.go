package fuse_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

var fsxSteps = flag.Int("fsx.steps", 0, "how many operations a process of TestFsx does (0: 250, or 100 with -short)")

const fsxAtOnce = 3

// TestFsx runs random reads, writes, truncations, mappings and more in separate processes, one for each seed, several at a time.
// Afterwards another client finds the contents that the processes expect.
func TestFsx(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) { b.fsxAll(t) })
}

// TestFsxWithoutKeeping is the same with a kernel that requests attributes each time, and must therefore often drop its cache,
// including mapped bytes that were not written yet.
func TestFsxWithoutKeeping(t *testing.T) {
	start(t, setup{
		client: client.Options{AttrTime: -1, SizeTime: -1, NameTime: -1},
		mount:  fuse.Options{EntryTime: -1, AttrTime: -1},
	}).fsxAll(t)
}

// fsxAll runs all seeds.
func (b *bench) fsxAll(t *testing.T) {
	other := b.client(t, client.Options{})
	turn := make(chan struct{}, fsxAtOnce)
	var all sync.WaitGroup
	for _, seed := range sim.Seeds(t) {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			b.fsx(t, other, seed)
		})
	}
	all.Wait()
}

// steps is the value of fsxSteps.
func steps() int {
	switch {
	case *fsxSteps != 0:
		return *fsxSteps
	case testing.Short():
		return 100
	}
	return 250
}

// fsx is the run of one seed.
func (b *bench) fsx(t *testing.T, other *client.FS, seed uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*far)
	defer cancel()
	name := fmt.Sprintf("file%d", seed)
	path := filepath.Join(b.work, name)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", childEnv, path, seed, steps()))
	out, err := cmd.CombinedOutput()
	if !assert.NoError(t, err, "%s", out) {
		return
	}
	bytes, err := fs.ReadFile(other, "tree/"+name)
	if !assert.NoError(t, err) {
		return
	}
	sum := sha256.Sum256(bytes)
	assert.Equal(t, strings.TrimSpace(string(out)), hex.EncodeToString(sum[:]), "seed %d: the bytes that another client sees", seed)
	assert.NoError(t, os.Remove(path))
}
