package fuse_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest"
)

// TestMapped runs random reads, writes, truncations and maps in processes of their own, one for each seed, all at a
// time. Another client then finds the bytes that the processes expect.
func TestMapped(t *testing.T) {
	b := start(t, setup{cluster: pvfstest.Options{Method: pvfstest.TCP, Servers: 3}})
	ctx, cancel := context.WithTimeout(context.Background(), far)
	defer cancel()
	sums := make([]string, 3)
	var all sync.WaitGroup
	for i := range sums {
		all.Go(func() {
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d 100", childEnv, filepath.Join(b.work, name(i)), i+1))
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s", out)
			sums[i] = strings.TrimSpace(string(out))
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	other := b.client(t, client.Options{})
	for i, want := range sums {
		bytes, err := fs.ReadFile(other, "tree/"+name(i))
		require.NoError(t, err)
		sum := sha256.Sum256(bytes)
		assert.Equal(t, want, hex.EncodeToString(sum[:]), "the bytes that another client sees")
	}
}

func name(i int) string { return fmt.Sprintf("file%d", i) }
