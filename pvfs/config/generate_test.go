package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestGenerateCaptured: the result is the configuration of captured stock servers.
func TestGenerateCaptured(t *testing.T) {
	text, err := Generate(GenOptions{
		Servers: []GenServer{{Address: "tcp://127.0.0.1:3334"}, {Address: "tcp://127.0.0.1:3335"}},
		DataDir: "/dev/shm/ofs/data", MetaDir: "/dev/shm/ofs/meta", LogFile: "/var/log/ofs/server.log",
		NoTimeouts: true, // as for stock servers
	})
	require.NoError(t, err)
	require.Equal(t, read(t, "fs.conf"), text)
}

func TestGenerate(t *testing.T) {
	text, err := Generate(GenOptions{
		Name: "big", ID: 7, Root: 42,
		Servers: []GenServer{
			{Alias: "meta", Address: "tcp://m:1,via+shm://m", NoData: true, MetaDir: "/m"},
			{Alias: "one", Address: "tcp://a:1", NoMeta: true},
			{Alias: "two", Address: "tcp://b:1", NoMeta: true},
		},
		NoStuffing: true, DefaultDatafiles: 2, FlowBufferSize: 1 << 20, FlowBuffers: 3,
		DistrDir: DistrDir{Initial: 2, Max: 3, Split: 10}, NoSyncMeta: true, SyncData: true,
		TrustedNetworks: []string{"tcp://127.0.0.0@8"}, RootSquash: []string{"*"}, ReadOnly: []string{"tcp://1.2.3.4", "tcp://5.*"},
	})
	require.NoError(t, err)
	c, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, "big", c.Name)
	require.Equal(t, proto.Handle(42), c.Root)
	require.Equal(t, []int{0}, c.MetaServers())
	require.Equal(t, []int{1, 2}, c.DataServers())
	require.Equal(t, "tcp://m:1,via+shm://m", c.Servers[0].Address)
	require.False(t, c.FileStuffing)
	require.False(t, c.SyncMeta)
	require.True(t, c.SyncData)
	require.False(t, c.Security.TurnOffTimeouts)
	require.Equal(t, 2, c.DefaultDatafiles)
	require.Equal(t, 1<<20, c.FlowBufferSize)
	require.Equal(t, 3, c.FlowBuffers)
	require.Equal(t, DistrDir{2, 3, 10}, c.DistrDir)
	require.Equal(t, "/m", c.MetaDir(0))
	require.True(t, c.Security.TrustedNetworks.Match("tcp://127.5.5.5:1"))
	require.True(t, c.Export.ReadOnly.Match("tcp://5.5.5.5:1"))
	require.Equal(t, proto.Handle(lastHandle), c.Servers[2].Data[0].Last+proto.Handle((lastHandle-firstHandle+1)%3))
}

func TestGenerateRefuses(t *testing.T) {
	one := []GenServer{{Address: "tcp://a:1"}}
	for name, o := range map[string]GenOptions{
		"no servers":   {},
		"no data":      {Servers: []GenServer{{Address: "tcp://a:1", NoData: true}}},
		"no address":   {Servers: []GenServer{{Alias: "a"}}},
		"alias twice":  {Servers: append(one, one...)},
		"name":         {Name: "two\nlines", Servers: one},
		"name's blank": {Name: "a # b", Servers: one},
		"alias blank":  {Servers: []GenServer{{Alias: "a b", Address: "tcp://a:1"}}},
		"root":         {Root: 1, Servers: one},
		"network":      {TrustedNetworks: []string{"tcp://x@y"}, Servers: one},
	} {
		_, err := Generate(o)
		require.Error(t, err, name)
	}
}
