package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// secret is in all data that the attackers may not read: bytes and extended attributes of others' files. Data that a mode allows
// all users to read can be read by handle, wherever it is (docs/reference/security-pvfs.md).
const secret = "SECRET"

// onlyFor is in data that the members of one group may read.
func onlyFor(gid uint32) string { return fmt.Sprintf("ONLY-%d;", gid) }

var onlyForAny = regexp.MustCompile(`ONLY-(\d+);`)

// victims are the targets of attackers: files and directories of root and of another user. Only pub is for all users. Each of
// some groups may read one directory and one file.
type victims struct {
	t      testing.TB
	root   *client.FS
	all    []string
	dirs   []string
	closed map[proto.Handle]uint32 // dirdata of directories that only this group may list; 0: no group may
}

func newVictims(t testing.TB, c *pvfstest.Cluster, groups ...uint32) *victims {
	t.Helper()
	mount := func(id client.Identity) *client.FS {
		f, err := client.Mount(t.Context(), c.Source(), client.Options{Endpoint: c.Endpoint(), User: &id, Seed: 1, AttrTime: -1, SizeTime: -1, NameTime: -1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		return f
	}
	v := &victims{
		t: t, root: mount(client.Identity{Groups: []uint32{0}}), closed: map[proto.Handle]uint32{},
		dirs: []string{"/", "/pub", "/home", "/etc", "/home/dir"},
	}
	ctx := context.Background()
	require.NoError(t, v.root.Chmod(ctx, "/", 0o755))
	require.NoError(t, v.root.Mkdir(ctx, "/pub", 0o777))
	require.NoError(t, v.root.Chmod(ctx, "/pub", 0o777))
	require.NoError(t, v.root.Mkdir(ctx, "/home", 0o777))
	require.NoError(t, v.root.Chown(ctx, "/home", 1000, 1000))
	require.NoError(t, v.root.Chmod(ctx, "/home", 0o700))
	require.NoError(t, v.root.Mkdir(ctx, "/etc", 0o755))
	user := mount(client.Identity{UID: 1000, Groups: []uint32{1000}})
	v.file(user, "/home/small", secret, 100, 0o600)
	v.file(user, "/home/large", secret, 300_000, 0o600)
	v.file(user, "/home/open", "public", 5000, 0o644)
	require.NoError(t, user.Mkdir(ctx, "/home/dir", 0o755))
	v.file(user, "/home/dir/inner", secret, 200_000, 0o600)
	require.NoError(t, user.SetXattr(ctx, "/home/small", "user.note", []byte(secret), 0))
	v.file(v.root, "/etc/shadow", secret, 1000, 0o600)
	v.file(v.root, "/etc/motd", "public", 70_000, 0o644)
	require.NoError(t, v.root.Mkdir(ctx, "/groups", 0o755))
	for _, gid := range groups {
		dir := groupDir(gid)
		require.NoError(t, v.root.Mkdir(ctx, dir, 0o750))
		v.file(v.root, dir+"/file", onlyFor(gid), 1000, 0o640)
		for _, name := range []string{dir + "/file", dir} {
			require.NoError(t, v.root.Chown(ctx, name, 1000, int(gid)))
		}
		v.dirs = append(v.dirs, dir)
		v.closeTo(dir, gid)
	}
	v.closeTo("/home", 0)
	return v
}

func groupDir(gid uint32) string { return fmt.Sprint("/groups/", gid) }

// closeTo records that only a group may list a directory.
func (v *victims) closeTo(dir string, gid uint32) {
	v.t.Helper()
	info, err := v.root.StatCtx(context.Background(), dir)
	require.NoError(v.t, err)
	for _, part := range info.Attr.DistDir.Dirdata {
		v.closed[part] = gid
	}
}

// file makes a file that consists of a line, repeated.
func (v *victims) file(f *client.FS, name, line string, size int, mode fs.FileMode) {
	v.t.Helper()
	file, err := f.OpenFile(context.Background(), name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	require.NoError(v.t, err)
	line += "\n"
	_, err = file.Write(bytes.Repeat([]byte(line), size/len(line)+1))
	require.NoError(v.t, err)
	require.NoError(v.t, file.Close())
	v.all = append(v.all, name)
}

// shot is the state that must not change.
func (v *victims) shot() (lines []string) {
	ctx := context.Background()
	var down func(name string)
	down = func(name string) {
		info, err := v.root.LstatCtx(ctx, name)
		require.NoError(v.t, err, name)
		a := info.Attr
		line := fmt.Sprint(name, info.Handle, info.Mode(), a.Owner, a.Group, a.Perms, info.Size(), a.Datafiles, a.Target)
		keys, err := v.root.ListXattr(ctx, name)
		require.NoError(v.t, err, name)
		slices.Sort(keys)
		for _, key := range keys {
			if key == "user.note" || key == "system.posix_acl_access" {
				value, err := v.root.GetXattr(ctx, name, key)
				require.NoError(v.t, err, name)
				line += fmt.Sprintf(" %s=%q", key, value)
			}
		}
		if name == "/pub" {
			lines = append(lines, line)
			return
		}
		if info.IsDir() {
			names, err := v.root.ReadNames(ctx, name)
			require.NoError(v.t, err, name)
			lines = append(lines, line+fmt.Sprint(names))
			for _, n := range names {
				down(name + "/" + n)
			}
			return
		}
		b, err := fs.ReadFile(v.root, name[1:])
		require.NoError(v.t, err, name)
		lines = append(lines, line+fmt.Sprintf(" %x", sha256.Sum256(b)))
	}
	down("/etc")
	down("/home")
	down("/groups")
	info, err := v.root.StatCtx(ctx, "/")
	require.NoError(v.t, err)
	names, err := v.root.ReadNames(ctx, "/")
	require.NoError(v.t, err)
	return append(lines, fmt.Sprint(info.Mode(), info.Attr.Owner, names))
}
