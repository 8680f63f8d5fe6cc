//go:build linux

package pagecache_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pagecache"
)

// Data just written is in the cache; dropped data, a hole and anything beyond the end is not.
func TestHolds(t *testing.T) {
	page := int64(os.Getpagesize())
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer f.Close()
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{Len: 1}, &unix.Cachestat_t{}, 0); err != nil {
		t.Skipf("the kernel does not say what is in memory: %v", err)
	}
	_, err = f.WriteAt(make([]byte, 10*page+5), 0)
	require.NoError(t, err)
	assert.True(t, pagecache.Holds(f, 0, int(10*page+5)))
	assert.True(t, pagecache.Holds(f, page-1, 2), "in two pages")
	assert.True(t, pagecache.Holds(f, 10*page+4, 1), "the last page is not whole")
	assert.False(t, pagecache.Holds(f, 10*page, int(page+1)), "beyond the end")
	require.NoError(t, f.Truncate(40*page))
	assert.False(t, pagecache.Holds(f, 0, int(40*page)), "a hole")
	assert.False(t, pagecache.Holds(f, 30*page, 1), "in a hole")
	require.NoError(t, f.Sync())
	require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	if pagecache.Holds(f, 0, 1) {
		t.Log("the file system keeps all files in memory")
	}
	require.NoError(t, f.Close())
	assert.False(t, pagecache.Holds(f, 0, 1), "closed")
}
