package plugins_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/shm"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/plugins"
)

func init() {
	roles["real"] = func() { plugins.Serve(driverOf("tcp"), driverOf("via+shm")) }
}

// TestRealMethods: via+shm and tcp in a plugin can talk to those of this program, and have the same
// addresses after their process died.
func TestRealMethods(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(shm.DirEnv, dir)
	p := load(t, plugins.Options{
		Name: "real", Env: []string{roleEnv + "=real", shm.DirEnv}, ArenaBytes: 64 << 20,
		Names: map[string]string{"tcp": "tcp-2", "via+shm": "shm-2"},
	})
	for own, address := range map[string]string{"tcp": "://127.0.0.1:0", "via+shm": "://here"} {
		t.Run(own, func(t *testing.T) {
			other := p.Methods()[0]
			if own == "via+shm" {
				other = p.Methods()[1]
			}
			a, b := openAt(t, other+address), openAt(t, own+strings.Replace(address, "here", "there", 1))
			was := a.Addresses()
			require.True(t, strings.HasPrefix(was[0], other+"://"), was)
			toB, err := a.Lookup(other + strings.TrimPrefix(b.Addresses()[0], own))
			require.NoError(t, err)
			toA, err := b.Lookup(own + strings.TrimPrefix(was[0], other))
			require.NoError(t, err)
			// Over TCP the other side knows a client only by its connection.
			require.NoError(t, a.wait(a.ctx.PostSendUnexpected(toB, 0, 1, []byte("hello"), nil)).Err)
			client := b.unexpected().From
			talk := func(size int) {
				room := make([]byte, size)
				recv, err := b.ctx.PostRecv(client, 1, room, nil)
				require.NoError(t, err)
				require.NoError(t, a.wait(a.ctx.PostSend(toB, 1, []byte(strings.Repeat("x", size)), nil)).Err)
				require.NoError(t, b.wait(recv, nil).Err)
				require.Equal(t, size, strings.Count(string(room), "x"))
			}
			for _, size := range []int{1, 5000, 3 << 20} {
				talk(size)
			}
			recv, err := b.ctx.PostRecv(client, 2, make([]byte, 3), nil)
			require.NoError(t, err)
			kill(t, p, 9)
			require.ErrorIs(t, b.wait(recv, nil).Err, bmi.ErrPeerFailed, "the other side sees the peer die")
			// A message may get into the socket of the process that is about to die.
			var m [1]bmi.Unexpected
			eventually(t, "a is there again", func() bool {
				sent := b.wait(b.ctx.PostSendUnexpected(toA, 0, 2, []byte("hi"), nil))
				got, err := a.TestUnexpected(m[:], 100*time.Millisecond)
				require.NoError(t, err)
				return sent.Err == nil && got == 1
			})
			require.Equal(t, "hi", string(m[0].Data))
			assert.Equal(t, was, a.Addresses())
			require.NoError(t, a.wait(a.ctx.PostSendUnexpected(m[0].From, 0, 2, []byte("ho"), nil)).Err)
			require.Equal(t, "ho", string(b.unexpected().Data))
		})
	}
	require.NoError(t, os.RemoveAll(dir))
}
