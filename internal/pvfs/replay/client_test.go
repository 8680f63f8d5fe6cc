package replay_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/replay"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A take is one captured command, with the captures before it.
type take struct {
	name             string // of its scene
	captured, before []*replay.Exchange
}

// performance is a run of our client with captured servers.
type performance struct {
	t   *testing.T
	ctx context.Context
	fs  *client.FS
}

var scripts atomic.Uint64 // for unique endpoint names

// perform makes our client do the same as a captured command, and returns the client's requests.
func (k *take) perform(t *testing.T, method string) []*replay.Exchange {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), farOff)
	defer cancel()
	script, err := replay.NewScript(k.captured)
	require.NoError(t, err)
	script.Before = k.before
	script.Invent = func(req proto.Request) []byte { return invent(k.name, req) }
	original, err := config.Parse(configOf(t, k.captured))
	require.NoError(t, err)
	number := scripts.Add(1)
	var replace []string
	for i, port := range ports {
		listen := "tcp://127.0.0.1:0"
		if method != pvfstest.TCP {
			listen = fmt.Sprintf("%s://script-%d-%d-%d", method, os.Getpid(), number, i)
		}
		ep, err := bmi.Open(ctx, bmi.Config{Listen: []string{listen}})
		require.NoError(t, err)
		defer func() { require.NoError(t, ep.Close()) }()
		require.NoError(t, script.Serve(ep, port))
		replace = append(replace, original.Servers[i].Address, ep.Addresses()[0])
	}
	script.Text = strings.NewReplacer(replace...).Replace
	clock := timeOf(k.captured)
	p := &performance{t: t, ctx: ctx}
	p.fs, err = client.Mount(ctx, replace[1]+"/"+original.Name, client.Options{
		User: userOf(k.captured), Clock: func() time.Time { return clock }, Seed: 1, RetryLimit: -1,
	})
	require.NoError(t, err)
	scenes[k.name](p)
	require.NoError(t, p.fs.Close())
	sent, wrong := script.Stop()
	require.Empty(t, wrong)
	return sent
}

// timeOf returns a time at which all capabilities of a capture were valid.
func timeOf(exchanges []*replay.Exchange) time.Time {
	at := time.Unix(1<<40, 0)
	for _, x := range exchanges {
		if resp, _, err := proto.ParseAnyResponse(x.Received[0]); err == nil && resp != nil {
			if got, is := resp.(*proto.GetAttrResp); is && got.Attr.Mask&proto.AttrCapability != 0 && got.Attr.Capability.Timeout.Before(at) {
				at = got.Attr.Capability.Timeout
			}
		}
	}
	return at.Add(-time.Minute)
}

// userOf is the user of a captured command.
func userOf(exchanges []*replay.Exchange) *client.Identity {
	for _, x := range exchanges {
		if _, req, err := proto.ParseRequest(x.Request); err == nil {
			if get, is := req.(*proto.GetAttrReq); is {
				return &client.Identity{UID: get.Cred.User, Groups: get.Cred.Groups}
			}
		}
	}
	return &client.Identity{Groups: []uint32{0}}
}

// takesOf splits sessions into commands: each starts by requesting the configuration, with tag 1.
func takesOf(t *testing.T, sessions ...replay.Session) (all []*take) {
	t.Helper()
	var before []*replay.Exchange
	for _, s := range ofClients(sessions) {
		commands := 0
		for _, x := range s.Exchanges {
			if x.Tag == 1 {
				commands++
				all = append(all, &take{name: s.Name, before: slices.Clip(before)})
			}
			require.NotZero(t, commands, "%s begins in the middle", s.Name)
			k := all[len(all)-1]
			k.captured = append(k.captured, x)
			before = append(before, x)
		}
		if commands > 1 {
			for i, k := range all[len(all)-commands:] {
				k.name = fmt.Sprintf("%s/%d", s.Name, i+1)
			}
		}
	}
	return all
}

// performAll performs all captured commands with our client, and compares the requests.
func performAll(t *testing.T, method string, takes []*take) (used map[*deviation]bool) {
	used = make(map[*deviation]bool)
	for _, k := range takes {
		if why, is := notForClients[k.name]; is {
			t.Logf("%s is not played: %s", k.name, why)
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			require.Contains(t, scenes, k.name, "say what it did in scenes, or why not in notForClients")
			pairs, err := replay.Pairs(k.captured, k.perform(t, method))
			require.NoError(t, err)
			for _, problem := range judge(k.name, pairs, used) {
				t.Error(problem)
			}
		})
	}
	return used
}

// TestClient makes our client do the same as the captured stock commands, with a server that answers like the captured ones. It
// must send the same requests, except for deviations.
func TestClient(t *testing.T) {
	methods := pvfstest.Methods
	if race.Enabled {
		methods = methods[:1]
	}
	takes := append(takesOf(t, loadCut(t, cutFile)...), takesOf(t, loadCut(t, spreadFile)...)...)
	for _, method := range methods {
		t.Run(method, func(t *testing.T) {
			used := performAll(t, method, takes)
			for i := range deviations {
				if d := &deviations[i]; !t.Failed() && !used[d] {
					t.Errorf("nothing deviates as %s (%s): %s", d.field, d.where, d.why)
				}
			}
		})
	}
}

// TestCapturedClient is the same with the captures themselves.
func TestCapturedClient(t *testing.T) {
	need.Soak(t, "TestClient performs what is kept of the same captures")
	dir := captures(t)
	start := replay.Session{Name: "00-server-startup", Exchanges: capturedStart(t, dir)}
	performAll(t, pvfstest.Memory, takesOf(t, start))
	performAll(t, pvfstest.Memory, takesOf(t, capturedSessions(t, dir)...))
	performAll(t, pvfstest.Memory, takesOf(t, capturedSpread(t, dir)...))
}
