package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTab(t *testing.T) {
	tab, err := ParseTab("tcp://127.0.0.1:3334/pvfs2-fs /mnt/orangefs pvfs2 defaults,noauto 0 0\n")
	require.NoError(t, err)
	require.Equal(t, Tab{
		Servers: []string{"tcp://127.0.0.1:3334"}, FS: "pvfs2-fs", Dir: "/mnt/orangefs", Type: "pvfs2",
		Options: []string{"defaults", "noauto"},
	}, tab)
	tab, err = ParseTab("tcp://a:1/fs,via+shm://b/fs")
	require.NoError(t, err)
	require.Equal(t, Tab{Servers: []string{"tcp://a:1", "via+shm://b"}, FS: "fs", Type: "pvfs2"}, tab)
	for _, line := range []string{"", "  ", "# x", "proc /proc proc defaults 0 0"} {
		_, err := ParseTab(line)
		require.ErrorIs(t, err, ErrNoTab, "%q", line)
	}
	for _, line := range []string{"host:3334/fs /mnt", "tcp://host", "tcp://host/", "tcp:///fs", "tcp://a/x,tcp://b/y", ","} {
		_, err := ParseTab(line)
		require.Error(t, err, "%q", line)
		require.NotErrorIs(t, err, ErrNoTab, "%q", line)
	}
}

func TestTabFile(t *testing.T) {
	tabs, err := ParseTabFile("# file systems\nproc /proc proc\ntcp://a:1/fs /mnt pvfs2\ntcp://b:1/other /o orangefs\n")
	require.NoError(t, err)
	require.Len(t, tabs, 2)
	_, err = ParseTabFile("\nnonsense /mnt pvfs2\n")
	require.ErrorContains(t, err, "line 2")
}

func FuzzTab(f *testing.F) {
	f.Add("tcp://127.0.0.1:3334/pvfs2-fs /mnt/orangefs pvfs2 defaults,noauto 0 0")
	f.Add("tcp://a:1/fs,via+shm://b/fs")
	f.Fuzz(func(t *testing.T, line string) {
		tab, err := ParseTab(line)
		if err == nil {
			require.NotEmpty(t, tab.Servers)
			require.NotEmpty(t, tab.FS)
		}
	})
}
