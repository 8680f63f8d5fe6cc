package peer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/peer"
	"github.com/viaduct-hpc/viaduct/peer/peertest"
)

// walkConfig has short times, so that a walk sees all of them pass.
func walkConfig() peer.Config {
	return peer.Config{
		Local:          peer.Hello{Version: 1, Credits: 16, EagerBytes: 8192},
		ConnectTimeout: 3 * time.Second,
		AttemptTimeout: 300 * time.Millisecond,
		ResendAfter:    40 * time.Millisecond,
		RetryMin:       2 * time.Millisecond,
		RetryMax:       100 * time.Millisecond,
		LingerAfter:    50 * time.Millisecond,
		KeepAliveAfter: 200 * time.Millisecond,
		DeadAfter:      900 * time.Millisecond,
	}
}

// walk plays one seed and returns the world as it came to rest.
func walk(seed uint64, nodes, steps int, adjust func(*peertest.World)) *peertest.World {
	rng := rand.New(rand.NewPCG(seed, 2*uint64(nodes)))
	cfg := walkConfig()
	k := &peertest.Walk{Rand: rng, Loss: 0.3 * rng.Float64(), Dup: 0.2 * rng.Float64(), Faults: 0.03 * rng.Float64()}
	if k.LoseNotices = rng.IntN(2) == 0; !k.LoseNotices {
		cfg.KeepAliveAfter = 0 // nothing goes unnoticed, so nobody needs to ask
	}
	cfg.RetryAbsent = rng.IntN(2) == 0
	k.World = peertest.NewWorld(cfg)
	for i := range nodes {
		n := k.World.AddNode(string(rune('a'+i)), rng.Uint64N(1<<16)+1)
		n.Hidden = i == 0 && rng.IntN(4) == 0
	}
	if adjust != nil {
		adjust(k.World)
	}
	k.Steps(steps)
	k.Settle(20 * time.Second)
	return k.World
}

func TestSimRandomWalk(t *testing.T) {
	for _, nodes := range []int{2, 3} {
		t.Run(fmt.Sprintf("nodes=%d", nodes), func(t *testing.T) {
			sim.Run(t, func(t *testing.T, seed uint64) {
				var log []string
				w := walk(seed, nodes, 3000, func(w *peertest.World) {
					w.Log = func(line string) { log = append(log, fmt.Sprintf("%12v %s", w.Now, line)) }
				})
				if len(w.Violations) > 0 {
					t.Logf("the last of it:\n%s", strings.Join(log[max(0, len(log)-200):], "\n"))
				}
				require.Empty(t, w.Violations, "seed %d", seed)
				require.NotEmpty(t, w.Ops())
			})
		})
	}
}
