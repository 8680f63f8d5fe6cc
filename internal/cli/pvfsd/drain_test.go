package pvfsd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestDrain: a transfer under way when a server stops completes if it takes less than --drain. The log names one that does not.
func TestDrain(t *testing.T) {
	for _, test := range []struct {
		drain string
		goOn  bool
	}{{"1m", true}, {"50ms", false}} {
		t.Run(test.drain, func(t *testing.T) {
			folder, address := t.TempDir(), newAddress("mem")
			log := filepath.Join(folder, "log")
			r, _ := serving(t, "--config", newConfig(t, "--insecure", "one="+address), "--dir", filepath.Join(folder, "data"), "--create",
				"--log-file", log, "--drain", test.drain)
			says := func(what string) func() bool {
				return func() bool {
					b, err := os.ReadFile(log)
					require.NoError(t, err)
					return strings.Contains(string(b), what)
				}
			}
			const total = 2 << 20
			err := writeSlowly(t, address, total, func() {
				r.stop()
				if test.goOn {
					require.Eventually(t, says("transfers=1"), far, time.Millisecond)
				} else {
					require.Eventually(t, says("cut off because the server stops"), far, time.Millisecond)
				}
			})
			assert.Equal(t, ExitOK, r.wait().code, r.err.String())
			if test.goOn {
				require.NoError(t, err)
				assert.False(t, says("cut off")())
				assert.Contains(t, r.err.String(), "2097152 bytes in")
				return
			}
			require.Error(t, err)
			assert.True(t, says("client=mem://")())
			assert.True(t, says(`"cut off when the server stopped"=1`)())
			assert.Contains(t, r.err.String(), "           1  cut off when the server stopped\n")
		})
	}
}

// writeSlowly writes to a new file, and calls between after half of the data.
func writeSlowly(t *testing.T, address string, total int, between func()) error {
	t.Helper()
	ctx := t.Context()
	ep, err := bmi.Open(ctx, bmi.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, ep.Close()) }()
	root := client.Identity{Groups: []uint32{0}}
	fsys, err := client.Mount(ctx, address+"/pvfs2-fs", client.Options{Endpoint: ep, User: &root, Seed: 1})
	require.NoError(t, err)
	f, err := fsys.Create(ctx, "/f")
	require.NoError(t, err)
	object := f.Handle()
	require.NoError(t, f.Close())
	info, err := fsys.StatCtx(ctx, "/f")
	require.NoError(t, err)
	id := fsys.Config().ID
	require.NoError(t, fsys.Close())

	to, err := ep.Lookup(address)
	require.NoError(t, err)
	c := rpc.NewCaller(ep, rpc.Options{})
	defer func() { require.NoError(t, c.Close()) }()
	cred := proto.Credential{Groups: root.Groups, Issuer: "C:test", Timeout: time.Now().Add(time.Hour)}
	var got proto.GetAttrResp
	require.NoError(t, c.Call(ctx, to, nil, &proto.GetAttrReq{Handle: object, FS: id, Mask: proto.AttrStat, Cred: cred}, &got))
	b := make([]byte, total)
	_, err = c.WriteFlow(context.Background(), &rpc.Flow{
		To:     to,
		Header: &proto.Header{Capability: got.Attr.Capability, Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(object)}}},
		Request: &proto.IOReq{
			Handle: info.Attr.Datafiles[0], FS: id, Type: proto.IOWrite, Flow: proto.FlowMultiqueue, ServerCt: 1, Dist: info.Attr.Dist,
			Request: proto.ByteStream(), Aggregate: int64(total),
		},
		Total: int64(total),
		Memory: func(yield func([]byte) bool) {
			if yield(b[:total/2]) {
				between()
				yield(b[total/2:])
			}
		},
	})
	return err
}
