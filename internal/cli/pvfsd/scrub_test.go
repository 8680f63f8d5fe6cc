package pvfsd

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/manner"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestScrub: data with a flipped bit is never returned, and a scrub of the running servers names the file. Only root may scrub.
func TestScrub(t *testing.T) {
	for _, method := range []string{"mem", "via+shm"} {
		t.Run(method, func(t *testing.T) {
			folder := t.TempDir()
			conf := newConfig(t, "one="+newAddress(method), "two="+newAddress(method))
			key := filepath.Join(folder, "key")
			require.NoError(t, os.WriteFile(key, []byte("a key that all servers have"), 0o600))
			for _, alias := range []string{"one", "two"} {
				serving(t, "--config", conf, "--alias", alias, "--dir", filepath.Join(folder, alias), "--create", "--key-file", key)
			}
			fsys := mountAs(t, conf, 0)
			want := bytes.Repeat([]byte("what was written"), 1<<16)
			require.NoError(t, fsys.Mkdir(t.Context(), "d", 0o755))
			for _, name := range []string{"d/damaged", "whole"} {
				writeFile(t, fsys, name, want)
			}
			out := good(t, "scrub", "--config", conf)
			require.Contains(t, out, "server one: ended ")
			require.Contains(t, out, "server two: ended ")
			require.Equal(t, 2, strings.Count(out, "damaged places: 0\n"), out)

			where := damageOf(t, fsys, folder, "d/damaged")
			for range 3 { // also when the server knows of it
				got, err := fs.ReadFile(fsys, "d/damaged")
				require.ErrorIs(t, err, syscall.EIO)
				require.ErrorContains(t, err, "read d/damaged: server "+where+": datafile ")
				require.ErrorContains(t, err, " is damaged at byte 69632, ")
				require.True(t, bytes.HasPrefix(want, got), "nothing that was not written")
			}
			got, err := fs.ReadFile(fsys, "whole")
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))

			r := pvfsd(t, "scrub", "--config", conf, "--rate", "0")
			require.Equal(t, ExitDamaged, r.code, r.err.String())
			require.Contains(t, r.out.String(), "/d/damaged: server "+where+", datafile ")
			require.Contains(t, r.out.String(), ", 4096 bytes from 69632 on: ")
			require.Contains(t, r.err.String(), "the store is damaged in one place")
			require.Contains(t, pvfsd(t, "scrub", "--config", conf, "--report", "--alias", where).out.String(), "/d/damaged: ")
			told := pvfsd(t, "scrub", "--config", conf, "--report", "--json").out.String()
			require.NoError(t, manner.CheckJSON(Command(), "scrub", told))
			require.Contains(t, told, `"file":"/d/damaged"`)
			good(t, "scrub", "--config", conf, "--stop")
			require.Equal(t, ExitUsage, pvfsd(t, "scrub", "--config", conf, "--alias", "three").code)
			require.Equal(t, ExitUsage, pvfsd(t, "scrub", "--config", conf, "--rate", "much").code)

			writeFile(t, fsys, "d/damaged", want)
			got, err = fs.ReadFile(fsys, "d/damaged")
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
			good(t, "scrub", "--config", conf)

			stranger := mountAs(t, conf, 31337)
			require.ErrorIs(t, stranger.Scrub(t.Context(), 0, 0), proto.EACCES)
			require.ErrorIs(t, stranger.StopScrub(t.Context(), 0), proto.EACCES)
			_, err = stranger.ScrubReport(t.Context(), 0, 0)
			require.ErrorIs(t, err, proto.EACCES)
			_, err = stranger.GetXattr(t.Context(), "/", proto.ScrubKey)
			require.Error(t, err)
			require.Error(t, stranger.SetXattr(t.Context(), "/", proto.ScrubKey, []byte("start 0"), 0))
		})
	}
}

func mountAs(t *testing.T, conf string, uid uint32) *client.FS {
	t.Helper()
	fsys, err := client.Mount(t.Context(), conf, client.Options{User: &client.Identity{UID: uid, Groups: []uint32{uid}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fsys.Close()) })
	return fsys
}

func writeFile(t *testing.T, fsys *client.FS, name string, data []byte) {
	t.Helper()
	f, err := fsys.OpenFile(t.Context(), name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// damageOf flips a bit of byte 70,000 in a datafile of a file. It returns the alias of that server, which is also the name of its
// folder.
func damageOf(t *testing.T, fsys *client.FS, folder, name string) (alias string) {
	t.Helper()
	info, err := fsys.StatCtx(t.Context(), name)
	require.NoError(t, err)
	require.NotEmpty(t, info.Attr.Datafiles)
	file := fmt.Sprintf("%016x.bstream", uint64(info.Attr.Datafiles[0]))
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != file {
			return err
		}
		rest, err := filepath.Rel(folder, path)
		require.NoError(t, err)
		alias, _, _ = strings.Cut(rest, string(filepath.Separator))
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		var b [1]byte
		_, err = f.ReadAt(b[:], 70_000)
		require.NoError(t, err)
		b[0] ^= 4
		_, err = f.WriteAt(b[:], 70_000)
		require.NoError(t, err)
		return f.Close()
	}))
	require.NotEmpty(t, alias)
	return alias
}
