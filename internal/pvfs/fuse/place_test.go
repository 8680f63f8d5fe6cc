package fuse

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestMounted(t *testing.T) {
	const list = `/dev/sda1 / ext4 rw 0 0
pvfs2-fs /mnt/with\040blank fuse.pvfs rw,nosuid 0 0
pvfs2-fs /mnt/plain fuse.pvfs rw,nosuid 0 0
tmpfs /tmp tmpfs rw 0 0
`
	assert.True(t, mounted(list, "/mnt/plain"))
	assert.True(t, mounted(list, "/mnt/with blank"))
	assert.False(t, mounted(list, "/mnt"))
	assert.False(t, mounted(list, "/tmp"))
}

func TestShows(t *testing.T) {
	const list = `24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
150 24 0:49 / /mnt/one rw,nosuid - fuse.pvfs pvfs2-fs rw,user_id=0
151 24 0:50 / /mnt/two rw,nosuid shared:3 - fuse.pvfs a_b\040c rw
152 24 0:51 / /mnt/other rw - fuse.sshfs pvfs2-fs rw
153
`
	assert.True(t, shows(list, unix.Mkdev(0, 49), "pvfs2-fs"))
	assert.True(t, shows(list, unix.Mkdev(0, 50), "a,b c"))
	assert.False(t, shows(list, unix.Mkdev(0, 50), "pvfs2-fs"))
	assert.False(t, shows(list, unix.Mkdev(0, 51), "pvfs2-fs"))
	assert.False(t, shows(list, unix.Mkdev(8, 1), "pvfs2-fs"))
}
