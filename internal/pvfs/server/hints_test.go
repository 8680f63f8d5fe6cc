package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestHintsOfOthersDirectories: who may make directories beside another user's says nothing about how files in that one are made.
// A new directory of one's own takes the hints of its parent, if they make sense.
func TestHintsOfOthersDirectories(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	alice, s := newUser(t, c, 1000, 1000), newUser(t, c, stranger, stranger)
	pub, err := root(t, c).mkdir(c.FS.Root, "pub", 0o777)
	require.NoError(t, err)
	closed, err := alice.mkdir(pub, "closed", 0o700)
	require.NoError(t, err)
	own, err := s.mkdir(pub, "own", 0o700)
	require.NoError(t, err)
	set := func(h *proto.Header, dir proto.Handle, key, value string) error {
		_, err := s.to(dir, h, &proto.SetEattrReq{Handle: dir, FS: s.fs(), Keys: []string{key}, Values: [][]byte{[]byte(value)}})
		return err
	}
	beside := s.header(pub) // the directory where both are, as a stock client shows it
	for key, value := range map[string]string{
		"user.pvfs2.dist_name": "basic_dist", "user.pvfs2.dist_params": "strip_size:4096", "user.pvfs2.num_dfiles": "1\x00",
	} {
		require.Equal(t, proto.EACCES, set(beside, closed, key, value), key)
		require.NoError(t, set(beside, own, key, value), key)
		require.Equal(t, proto.EEXIST, set(beside, own, key, value), "only once")
	}
	mine := s.header(own)
	for _, wrong := range [][2]string{
		{"dist_name", "x"}, {"dist_name", ""}, {"num_dfiles", "0"}, {"num_dfiles", "x"}, {"num_dfiles", "9999999"}, {"num_dfiles", ""},
		{"layout", "9"}, {"dist_params", "a\nb"}, {"dist_params", "a\x00b"},
	} {
		require.Equal(t, proto.EINVAL, set(mine, own, "user.pvfs2."+wrong[0], wrong[1]), "%q", wrong)
	}
	_, err = alice.create(closed, "file", 0o600)
	require.NoError(t, err)
}
