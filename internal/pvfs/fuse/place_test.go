package fuse

import (
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const list = `24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
150 24 0:49 / /mnt/one rw,nosuid - fuse.pvfs pvfs2-fs rw,user_id=0
151 24 0:50 / /mnt/with\040blank rw,nosuid shared:3 - fuse.pvfs a_b\040c rw
152 24 0:51 / /mnt/other rw - fuse.sshfs pvfs2-fs rw
`

// selects reports whether a filter leaves a mount of the list.
func selects(t *testing.T, f mountinfo.FilterFunc) bool {
	t.Helper()
	mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(list), f)
	require.NoError(t, err)
	return len(mounts) > 0
}

func TestMountedAt(t *testing.T) {
	for dir, want := range map[string]bool{"/mnt/one": true, "/mnt/with blank": true, "/mnt": false, "/mnt/other": false, "/": false} {
		assert.Equal(t, want, selects(t, at(dir)), dir)
	}
}

func TestShows(t *testing.T) {
	assert.True(t, selects(t, showing(unix.Mkdev(0, 49), "pvfs2-fs")))
	assert.True(t, selects(t, showing(unix.Mkdev(0, 50), "a,b c")))
	assert.False(t, selects(t, showing(unix.Mkdev(0, 50), "pvfs2-fs")))
	assert.False(t, selects(t, showing(unix.Mkdev(0, 51), "pvfs2-fs")))
	assert.False(t, selects(t, showing(unix.Mkdev(8, 1), "pvfs2-fs")))
}
