package client_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestServersWithOtherKeys: operations that need two servers with different keys fail with an error that says so.
func TestServersWithOtherKeys(t *testing.T) {
	var other bool
	c := pvfstest.Start(t, pvfstest.Options{Server: func(i int, cfg *server.Config) {
		if i == 1 && other {
			cfg.Key = []byte("quite another key than all others have")
		}
	}})
	before := mount(t, c, client.Options{})
	for name := range names(10) {
		write(t, before, name, string(make([]byte, 200_000)))
	}
	require.NoError(t, before.Close())
	c.Stop(1)
	other = true
	c.Start(1)

	f := mount(t, c, client.Options{RetryLimit: -1})
	const says = "do all have the same key (pvfsd serve --key-file)?"
	for name := range names(10) {
		_, err := fs.ReadFile(f, name)
		require.ErrorContains(t, err, says)
	}
	for range 2 { // a new file needs the datafiles of another server
		file, err := f.Create(ctx, "new")
		if err == nil {
			_, err = file.Write(make([]byte, 200_000))
			_ = file.Close() // the write has failed
		}
		require.ErrorContains(t, err, says)
	}
}

// names yields n names.
func names(n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(string(rune('a' + i))) {
				return
			}
		}
	}
}
