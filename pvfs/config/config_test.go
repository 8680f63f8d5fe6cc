package config

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func read(t testing.TB, name string) string {
	b, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(b)
}

// TestCaptured parses a configuration of stock servers.
func TestCaptured(t *testing.T) {
	text := read(t, "fs.conf")
	c, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, text, c.Text)
	require.Equal(t, "pvfs2-fs", c.Name)
	require.Equal(t, proto.FSID(1000), c.ID)
	require.Equal(t, proto.Handle(1048576), c.Root)
	require.Equal(t, []Server{{
		Alias: "127.0.0.1_tcp3334", Address: "tcp://127.0.0.1:3334",
		Meta: []proto.Extent{{First: 3, Last: 2305843009213693953}},
		Data: []proto.Extent{{First: 4611686018427387905, Last: 6917529027641081855}},
	}, {
		Alias: "127.0.0.1_tcp3335", Address: "tcp://127.0.0.1:3335",
		Meta: []proto.Extent{{First: 2305843009213693954, Last: 4611686018427387904}},
		Data: []proto.Extent{{First: 6917529027641081856, Last: 9223372036854775806}},
	}}, c.Servers)
	require.Equal(t, []string{"tcp://127.0.0.1:3335"}, c.Servers[1].Addresses())
	require.True(t, c.FileStuffing)
	require.Equal(t, 262144, c.FlowBufferSize)
	require.Equal(t, 8, c.FlowBuffers)
	require.Equal(t, stripe.Default(proto.DistStripe), c.Dist)
	require.Equal(t, DistrDir{1, 1, 100}, c.DistrDir)
	require.Equal(t, 30*time.Second, c.ServerTimeout)
	require.Equal(t, 300*time.Second, c.ClientFlowTimeout)
	require.Equal(t, 5, c.RetryLimit)
	require.Equal(t, 2*time.Second, c.RetryDelay)
	require.True(t, c.SyncMeta)
	require.False(t, c.SyncData)
	require.True(t, c.Security.TurnOffTimeouts)
	require.Equal(t, "/dev/shm/ofs/data-127.0.0.1_tcp3335", c.DataDir(1))
	require.Equal(t, "/dev/shm/ofs/meta-127.0.0.1_tcp3334", c.MetaDir(0))
	require.Equal(t, "/var/log/ofs/server.log-127.0.0.1_tcp3335", c.LogFile(1))
	require.Equal(t, "bmi_tcp", c.Option(0, "BMIModules"))
	require.Equal(t, "alt-aio", c.StorageHint("TroveMethod"))
	require.Equal(t, []int{0, 1}, c.MetaServers())
	require.Equal(t, []int{0, 1}, c.DataServers())

	text = read(t, "distdir-2.conf")
	c, err = Parse(text)
	require.NoError(t, err)
	require.Equal(t, text, c.Text)
	require.Equal(t, DistrDir{2, 2, 100}, c.DistrDir)
}

func TestOwner(t *testing.T) {
	c, err := Parse(read(t, "fs.conf"))
	require.NoError(t, err)
	for h, want := range map[proto.Handle]int{
		0: -1, 2: -1, 3: 0, 1048576: 0, 2305843009213693953: 0, 2305843009213693954: 1, 4611686018427387904: 1,
		4611686018427387905: 0, 6917529027641081855: 0, 6917529027641081856: 1, 9223372036854775806: 1,
		9223372036854775807: -1, math.MaxUint64: -1,
	} {
		got, ok := c.Owner(h)
		require.Equal(t, want >= 0, ok, "%d", h)
		require.Equal(t, max(want, 0), got, "%d", h)
	}
	require.False(t, c.IsData(1048576))
	require.True(t, c.IsData(4611686018427387905))
	require.False(t, c.IsData(0))
}

// TestOwnerOracle compares with a search of every range.
func TestOwnerOracle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := base()
		next := proto.Handle(1 + r.Uint64N(5))
		for range 1 + r.IntN(4) {
			c.Servers = append(c.Servers, Server{})
		}
		c.Servers[0].Data = []proto.Extent{{First: 1 << 40, Last: 1 << 41}}
		for range 1 + r.IntN(12) {
			s := &c.Servers[r.IntN(len(c.Servers))]
			s.Meta = append(s.Meta, proto.Extent{First: next, Last: next + proto.Handle(r.Uint64N(4))})
			next += proto.Handle(4 + r.Uint64N(4))
		}
		require.NoError(t, c.index(), "seed %d", seed)
		for h := range next + 5 {
			want, found := 0, false
			for i, s := range c.Servers {
				for _, e := range s.Meta {
					if e.First <= h && h <= e.Last {
						want, found = i, true
					}
				}
			}
			got, ok := c.Owner(h)
			if got != want || ok != found {
				t.Fatalf("seed %d: %d belongs to %d (%v), not to %d (%v)", seed, h, want, found, got, ok)
			}
		}
	}
}

const rich = `# a comment
<Defaults>
	BMIModules bmi_tcp   # another
	LogFile "/var/log/with blank"
	ClientRetryLimit 7
</Defaults>
<Security>
	TrustedNetwork tcp://192.168.4.0@24, tcp://10.0.0.*
	TrustedPorts 0-1023
</Security>
<ALIASES>
	Alias one tcp://one:3334,via+shm://one
	alias two tcp://two:3334
</Aliases>
<FileSystem>
	Name first
	ID 1
	RootHandle 3
	TreeWidth 4
	FileStuffing no
	DefaultNumDFiles 3
	FlowBufferSizeBytes 1048576
	FlowBuffersPerFlow 4
	<Distribution>
		Name twod-stripe
		Param strip_size
		Value 4096
		Param num_groups
		Value 4
	</Distribution>
	<MetaHandleRanges>
		Range one 3-100, 200-300,400-500
	</MetaHandleRanges>
	<DataHandleRanges>
		Range two 1000-2000
	</DataHandleRanges>
	<ExportOptions>
		RootSquash tcp://192.168.* *
		RootSquashExceptions tcp://127.0.0.1
		AnonUID 99
	</ExportOptions>
</FileSystem>
<FileSystem>
	Name second
	ID 2
	RootHandle 5
	<MetaHandleRanges>
		Range two 3-100
	</MetaHandleRanges>
	<DataHandleRanges>
		Range two 1000-2000
	</DataHandleRanges>
</FileSystem>
<ServerOptions>
	Server two
	LogFile /two
</ServerOptions>
`

func TestEverythingElse(t *testing.T) {
	c, err := Parse(rich)
	require.NoError(t, err)
	require.Equal(t, "first", c.Name)
	require.False(t, c.FileStuffing)
	require.Equal(t, 3, c.DefaultDatafiles)
	require.Equal(t, 1048576, c.FlowBufferSize)
	require.Equal(t, 4, c.FlowBuffers)
	require.Equal(t, 7, c.RetryLimit)
	require.Equal(t, proto.Dist{Name: proto.DistTwoD, StripSize: 4096, Groups: 4, Factor: 256}, c.Dist)
	require.Equal(t, []proto.Extent{{First: 3, Last: 100}, {First: 200, Last: 300}, {First: 400, Last: 500}}, c.Servers[0].Meta)
	require.Equal(t, []string{"tcp://one:3334", "via+shm://one"}, c.Servers[0].Addresses())
	require.Equal(t, []int{0}, c.MetaServers())
	require.Equal(t, []int{1}, c.DataServers())
	require.Equal(t, "/var/log/with blank", c.LogFile(0))
	require.Equal(t, "/two", c.LogFile(1))
	require.Equal(t, uint32(99), c.Export.AnonUID)
	require.Equal(t, uint32(65534), c.Export.AnonGID)
	require.Equal(t, 1023, c.Security.TrustedPortLast)
	require.True(t, c.Security.TrustedNetworks.Match("tcp://192.168.4.9:700"))
	require.True(t, c.Security.TrustedNetworks.Match("tcp://10.0.0.9:700"))
	require.False(t, c.Security.TrustedNetworks.Match("tcp://10.0.1.9:700"))
	require.True(t, c.Export.RootSquashExceptions.Match("tcp://127.0.0.1:3"))

	names, err := Names(rich)
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second"}, names)
	c, err = ParseWith(rich, Options{FS: "second"})
	require.NoError(t, err)
	require.Equal(t, proto.FSID(2), c.ID)
	require.Empty(t, c.Servers[0].Meta)
	require.Equal(t, stripe.Default(proto.DistStripe), c.Dist)
	require.Equal(t, "/two", c.LogFile(1))
	_, err = ParseWith(rich, Options{FS: "third"})
	require.ErrorIs(t, err, ErrNoFS)
}

func TestErrorsSayWhere(t *testing.T) {
	good := strings.Split(read(t, "fs.conf"), "\n")
	for _, c := range []struct {
		old, new, want string
	}{
		{"ID 1000", "ID x", `line 36: ID: "x" is no number`},
		{"ID 1000", "ID 0", "line 36: ID"},
		{"RootHandle 1048576", "RootHandle 2", "line 55: </FileSystem>: no server has the root handle 2"},
		{"RootHandle 1048576", "RootHandle -1", "line 37"},
		{"FileStuffing yes", "FileStuffing perhaps", "neither yes nor no"},
		{"<MetaHandleRanges>", "<DataHandleRanges>", "line 45"},
		{"</Security>", "", "line 27: </Defaults>: <Security> of line 24 must be closed first"},
		{"Range 127.0.0.1_tcp3334 3-", "Range nobody 3-", `line 43: Range: there is no alias "nobody"`},
		{"3-2305843009213693953", "3-2305843009213693954", "overlap"},
		{"3-2305843009213693953", "3-1", "no range of handles"},
		{"3-2305843009213693953", "3-18446744073709551615", "is no handle"},
		{"Alias 127.0.0.1_tcp3335", "Alias 127.0.0.1_tcp3334", "is there already"},
		{"Server 127.0.0.1_tcp3334", "LogFile /x", "Server must come first"},
		{"LogFile /var/log/ofs/server.log", `LogFile "/var`, "quotation mark"},
		{"Name pvfs2-fs", "", "no Name"},
	} {
		text := strings.Join(good, "\n")
		changed := strings.Replace(text, c.old, c.new, 1)
		require.NotEqual(t, text, changed, c.old)
		_, err := Parse(changed)
		require.ErrorContains(t, err, c.want, "%s -> %s", c.old, c.new)
	}
	_, err := Parse("")
	require.ErrorIs(t, err, ErrNoFS)
	_, err = Parse("<Defaults>")
	require.ErrorContains(t, err, "line 1: <Defaults>: it is not closed")
	_, err = Parse("</Defaults>")
	require.ErrorContains(t, err, "line 1: </Defaults>: no section is open")
	_, err = Parse(strings.Repeat("#", proto.MaxConfig))
	require.ErrorContains(t, err, "fit a message")
}

func TestNetworks(t *testing.T) {
	for _, c := range []struct {
		pattern, peer string
		want          bool
	}{
		{"tcp://192.168.4.0@24", "tcp://192.168.4.255:9", true},
		{"tcp://192.168.4.0@24", "tcp://192.168.5.1:9", false},
		{"tcp://192.168.4.0@24", "tcps://192.168.4.1:9", false},
		{"192.168.4.0/24", "tcps://192.168.4.1:9", true},
		{"tcp://*", "tcp://host:9", true},
		{"tcp://*", "via+shm://x", false},
		{"*", "via+shm://x", true},
		{"via+shm://*", "via+shm://x", true},
		{"via+shm://x", "via+shm://xy", false},
		{"via+shm://x", "via+shm://x", true},
		{"tcp://10.1.*", "tcp://10.1.2.3:4", true},
		{"tcp://10.1.*", "tcp://10.11.2.3:4", false},
		{"tcp://::1", "tcp://[::1]:4", true},
		{"tcp://fe80::@10", "tcp://[fe80::7]:4", true},
		{"127.0.0.1", "tcp://[::ffff:127.0.0.1]:4", true},
		{"tcp://host", "tcp://host:4", true},
	} {
		n, err := ParseNetwork(c.pattern)
		require.NoError(t, err, c.pattern)
		require.Equal(t, c.want, n.Match(c.peer), "%s %s", c.pattern, c.peer)
		require.Equal(t, c.pattern, n.String())
	}
	for _, bad := range []string{"", "tcp://", "tcp://x@24", "tcp://1.2.3.4@33", "tcp://1.*.3", "tcp://1.2.3.4@x"} {
		_, err := ParseNetwork(bad)
		require.Error(t, err, bad)
	}
	require.False(t, Networks(nil).Match("tcp://1.2.3.4:5"))
}

func FuzzParse(f *testing.F) {
	f.Add(read(f, "fs.conf"))
	f.Add(rich)
	f.Add(strange)
	f.Add("<Aliases>\nAlias a \"b\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		require.Equal(t, text, c.Text)
		owner, ok := c.Owner(c.Root)
		require.True(t, ok)
		require.Less(t, owner, len(c.Servers))
		_, err = stripe.Of(c.Dist)
		if c.Dist.Name != proto.DistVar {
			require.NoError(t, err)
		}
		_, err = ParseWith(text, Options{FS: c.Name})
		require.NoError(t, err)
		for i := range c.Servers {
			require.Equal(t, c.Name, c.ForServer(i).Name)
		}
		lenient, err := ParseWith(text, Options{Lenient: true})
		require.NoError(t, err, "a client takes what a server takes")
		require.Equal(t, c.Servers, lenient.Servers)
	})
}
