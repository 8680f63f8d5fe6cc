package server_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestLookupTells: a request for more than the common attributes gets the attributes of GETATTR for a file or a symlink at the
// end of the path, if it is on this server.
func TestLookupTells(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2})
	u := root(t, c)
	const mask = proto.AttrCommon | proto.AttrDist | proto.AttrDatafiles | proto.AttrMirror | proto.AttrTarget | proto.AttrDistDir | proto.AttrCapability
	look := func(from proto.Handle, path string, mask proto.AttrMask) *proto.LookupPathResp {
		t.Helper()
		resp, err := u.to(from, u.header(from), &proto.LookupPathReq{Path: path, FS: u.fs(), Start: from, Mask: mask, Cred: u.cred})
		require.NoError(t, err)
		return resp.(*proto.LookupPathResp)
	}
	at, _ := c.FS.Owner(c.FS.Root)
	whole := 0
	for i := range 8 {
		name := fmt.Sprint(i)
		dir, err := u.mkdir(c.FS.Root, "d"+name, 0o755)
		require.NoError(t, err)
		f, err := u.create(dir, "f", 0o644)
		require.NoError(t, err)
		l, err := u.symlink(c.FS.Root, "l"+name, "target")
		require.NoError(t, err)
		file, err := u.create(c.FS.Root, "f"+name, 0o644)
		require.NoError(t, err)
		for path, h := range map[string]proto.Handle{"d" + name: dir, "d" + name + "/f": f, "l" + name: l, "f" + name: file} {
			got, plain := look(c.FS.Root, path, mask), look(c.FS.Root, path, proto.AttrCommon)
			require.Equal(t, plain.Handles, got.Handles)
			require.Len(t, got.Attrs, len(plain.Attrs))
			for i, a := range got.Attrs {
				require.Equal(t, proto.AttrCommon, plain.Attrs[i].Mask)
				if got.Handles[i] != h || h == dir {
					require.Equal(t, plain.Attrs[i], a, path)
					continue
				}
				whole++
				want, err := u.attr(h, mask&^proto.AttrCapability)
				require.NoError(t, err)
				require.Equal(t, want, a, path)
			}
			if owner, _ := c.FS.Owner(h); owner != at && path != "d"+name+"/f" {
				assert.Len(t, got.Attrs, len(got.Handles)-1)
			}
		}
	}
	assert.NotZero(t, whole)
}
