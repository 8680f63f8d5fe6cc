package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestWhoLeavesLosesWhatHeHolds: a capability that a user got by other rules for clients is void at once, after a reload and after
// a restart with the new rules. Users whose rules are the same keep theirs.
func TestWhoLeavesLosesWhatHeHolds(t *testing.T) {
	const before = "alice 1000:1000\nbob 1001:1001\n"
	for what, change := range map[string]struct {
		identities string
		config     func(*config.Config)
		alice, bob proto.Status
	}{
		"nothing":                   {before, nil, proto.OK, proto.OK},
		"alice has left":            {"bob 1001:1001\n", nil, proto.EAGAIN, proto.OK},
		"she has lost a group":      {"alice 1000:0\nbob 1001:1001\n", nil, proto.EAGAIN, proto.OK},
		"nobody may act for others": {"", nil, proto.EAGAIN, proto.EAGAIN},
		"somebody may for all":      {before + "x any\n", nil, proto.EAGAIN, proto.EAGAIN},
		"all are nobody now":        {before, func(c *config.Config) { c.Export.AllSquash = networks(t, "*") }, proto.EAGAIN, proto.EAGAIN},
		"another address is nobody": {before, func(c *config.Config) { c.Export.RootSquash = networks(t, "tcp://10.1.2.3") }, proto.EAGAIN, proto.EAGAIN},
	} {
		for _, again := range []bool{false, true} {
			ids, err := credential.ParseIdentities([]byte(before))
			require.NoError(t, err)
			now := &ids
			var changed func(*config.Config)
			c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Server: func(_ int, cfg *server.Config) {
				cfg.Identities = *now
				if changed != nil {
					fs, err := config.Parse(cfg.FS.Text)
					require.NoError(t, err)
					changed(fs)
					cfg.FS = fs
				}
			}})
			alice, bob := newUser(t, c, 1000, 1000), newUser(t, c, 1001, 1001)
			f, err := root(t, c).create(c.FS.Root, "f", 0o666)
			require.NoError(t, err)
			hers, his := alice.opened(f), bob.header(f)
			status := func(h *proto.Header) proto.Status {
				_, err := root(t, c).to(f, h, &proto.UnstuffReq{Handle: f, FS: c.FS.ID, Mask: proto.AttrUnstuff, Cred: alice.cred})
				return proto.StatusOf(err)
			}
			require.Equal(t, proto.OK, status(hers))
			require.Equal(t, proto.OK, status(his))

			other, err := credential.ParseIdentities([]byte(change.identities))
			require.NoError(t, err)
			fs := c.FS
			if change.config != nil {
				fs, err = config.Parse(c.FS.Text)
				require.NoError(t, err)
				change.config(fs)
			}
			if again {
				now, changed = &other, change.config
				c.Stop(0)
				c.Start(0)
				if change.alice != proto.OK {
					change.bob = change.alice // it is not known any more what was different
				}
			} else {
				require.NoError(t, c.Server(0).Reload(fs, other))
			}
			for range 2 { // a run that changes nothing forgets nothing
				require.Equal(t, change.alice, status(hers), "%s, restart %v", what, again)
				require.Equal(t, change.bob, status(his), "%s, restart %v", what, again)
				now, changed = &other, change.config
				c.Stop(0)
				c.Start(0)
				if change.alice != proto.OK {
					change.bob = change.alice
				}
			}
			require.Equal(t, proto.OK, status(root(t, c).header(f)), "a new one")
		}
	}
}
