package client_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestRulesSeeSources: rules for networks apply to clients of via+udp by the source of their packets. The name that a client
// gives itself does not count: ~ADDRESS if it does not listen, else any name of its choice.
func TestRulesSeeSources(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	const here, elsewhere = "via+udp://127.0.0.0@8", "via+udp://10.0.0.0@8"
	for _, c := range []struct {
		name   string
		config func(*config.GenOptions)
		owner  uint32
		err    error
	}{
		{"no rules", nil, 0, nil},
		{"trusted", func(g *config.GenOptions) { g.TrustedNetworks = []string{here} }, 0, nil},
		{"not trusted", func(g *config.GenOptions) { g.TrustedNetworks = []string{elsewhere} }, 0, fs.ErrPermission},
		{"squashed", func(g *config.GenOptions) { g.RootSquash = []string{here} }, 65534, nil},
		{"not squashed", func(g *config.GenOptions) { g.RootSquash = []string{elsewhere} }, 0, nil},
		{"exempt", func(g *config.GenOptions) {
			g.RootSquash, g.RootSquashExceptions = []string{"*"}, []string{here}
		}, 0, nil},
		{"read only", func(g *config.GenOptions) { g.ReadOnly = []string{here} }, 0, proto.EROFS},
	} {
		for _, listen := range []string{"", "via+udp://localhost:0"} {
			t.Run(c.name+" "+listen, func(t *testing.T) {
				servers := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.ViaUDP, Servers: 1, Config: c.config})
				own := bmi.Config{}
				if listen != "" {
					own.Listen = []string{listen}
				}
				ep, err := bmi.Open(ctx, own)
				require.NoError(t, err)
				defer func() { require.NoError(t, ep.Close()) }()
				f, err := client.Mount(ctx, servers.Source(), client.Options{Endpoint: ep, User: &client.Identity{Groups: []uint32{0}}, Seed: 1})
				if err == nil {
					defer func() { require.NoError(t, f.Close()) }()
					err = f.Mkdir(ctx, "d", 0o755)
				}
				if c.err != nil {
					require.ErrorIs(t, err, c.err)
					return
				}
				require.NoError(t, err)
				info, err := f.StatCtx(ctx, "d")
				require.NoError(t, err)
				require.Equal(t, c.owner, info.Attr.Owner)
			})
		}
	}
}
