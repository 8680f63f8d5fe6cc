package pmi

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// said is a connection to a launcher with fixed output.
type said struct {
	net.Conn
	answers *bytes.Reader
}

func (s *said) Read(b []byte) (int, error)  { return s.answers.Read(b) }
func (s *said) Write(b []byte) (int, error) { return len(b), nil }
func (s *said) SetDeadline(time.Time) error { return nil }

// For any output of a launcher, a client ends and does not panic.
func FuzzLauncher(f *testing.F) {
	f.Add([]byte("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"+
		"cmd=my_kvsname kvsname=k\ncmd=appnum appnum=0\ncmd=universe_size size=4\ncmd=put_result rc=0\ncmd=barrier_out\n"+
		"cmd=get_result rc=0 value=v\ncmd=spawn_result rc=0 errcodes=0,1,x\ncmd=lookup_result rc=0 port=p\n"), true)
	f.Add([]byte("cmd=initack rc=0\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n"), true)
	f.Add([]byte("cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n44    cmd=fullinit-response;rc=0;rank=0;size=1;   "), false)
	f.Fuzz(func(t *testing.T, answers []byte, first bool) {
		ctx, cancel := context.WithTimeout(context.Background(), waitMax)
		defer cancel()
		b := base{link: newLink(&said{answers: bytes.NewReader(answers)}), size: 1}
		var c Client
		var err error
		if first {
			c, err = newClient1(ctx, b, environment{fd: -1 + len(answers)%2})
		} else {
			c, err = newClient2(ctx, b, environment{job: "1.0"})
		}
		if err == nil {
			require.Less(t, c.Rank(), c.Size())
			_ = c.Put(ctx, "k", "v")
			_ = c.Fence(ctx)
			_, _ = c.Get(ctx, "k")
			_, _ = c.Spawn(ctx, "x", nil, 2, nil, nil)
			_, _ = c.Lookup(ctx, "s")
		}
		require.NoError(t, ctx.Err())
	})
}
