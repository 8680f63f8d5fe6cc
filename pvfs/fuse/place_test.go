package fuse

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
