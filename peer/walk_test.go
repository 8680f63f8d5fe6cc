package peer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/peertest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/peer"
)

// walkConfig has short times, so that all of them pass during a walk.
func walkConfig() peer.Config {
	return peer.Config{
		Local:          peer.Hello{Version: 1, Credits: 16, EagerBytes: 8192},
		ConnectTimeout: time.Second,
		AttemptTimeout: 300 * time.Millisecond,
		ResendAfter:    40 * time.Millisecond,
		RetryMin:       2 * time.Millisecond,
		RetryMax:       100 * time.Millisecond,
		LingerAfter:    50 * time.Millisecond,
		KeepAliveAfter: 200 * time.Millisecond,
		DeadAfter:      900 * time.Millisecond,
	}
}

// walk plays one seed and returns the world at rest.
func walk(seed uint64, nodes, steps int, adjust func(*peertest.World)) *peertest.World {
	rng := rand.New(rand.NewPCG(seed, 2*uint64(nodes)))
	cfg := walkConfig()
	k := &peertest.Walk{Rand: rng, Loss: 0.3 * rng.Float64(), Dup: 0.2 * rng.Float64(), Faults: 0.03 * rng.Float64()}
	if k.LoseNotices = rng.IntN(2) == 0; !k.LoseNotices {
		cfg.KeepAliveAfter = 0 // no event is lost, so keep-alives are not needed
	}
	cfg.RetryAbsent = rng.IntN(2) == 0
	k.World = peertest.NewWorld(cfg)
	for i := range nodes {
		n := k.AddNode(string(rune('a' + i)))
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
				require.True(t, slices.ContainsFunc(w.Ops(), func(op *peertest.Op) bool {
					return op.Done == 1 && op.Err == peer.ReasonNone
				}), "nothing ever succeeded")
			})
		})
	}
}

// TestSimCanary proves that the checkers work: each broken variant must be caught
// within a few seeds.
func TestSimCanary(t *testing.T) {
	without := func(kind peer.ActionKind) func(peer.Event, []peer.Action) []peer.Action {
		return func(_ peer.Event, actions []peer.Action) []peer.Action {
			return slices.DeleteFunc(actions, func(a peer.Action) bool { return a.Kind == kind })
		}
	}
	broken := map[string]func(peer.Event, []peer.Action) []peer.Action{
		"forgets to fail":           without(peer.ActionFail),
		"forgets to flush":          without(peer.ActionFlush),
		"forgets queued receives":   without(peer.ActionPostRecvs),
		"leaves links open":         without(peer.ActionLinkClose),
		"leaves requests open":      without(peer.ActionLinkReject),
		"never answers":             without(peer.ActionSendConnAck),
		"does not connect":          without(peer.ActionLinkConnect),
		"answers another attempt":   spoilHello(func(h *peer.Hello) { h.Attempt++ }),
		"sends the name of another": spoilHello(func(h *peer.Hello) { h.Session++ }),
		"serves a request twice": func(_ peer.Event, actions []peer.Action) []peer.Action {
			for _, a := range actions {
				if a.Kind == peer.ActionLinkAccept {
					return append(actions, a)
				}
			}
			return actions
		},
	}
	for name, spoil := range broken {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				w := walk(seed+1, 2, 1500, func(w *peertest.World) { w.Spoil = spoil })
				if len(w.Violations) > 0 {
					return
				}
			}
			t.Error("no checker noticed")
		})
	}
}

// spoilHello changes the contents of CONN_REQ and CONN_ACK.
func spoilHello(change func(*peer.Hello)) func(peer.Event, []peer.Action) []peer.Action {
	return func(_ peer.Event, actions []peer.Action) []peer.Action {
		for i, a := range actions {
			if a.Kind == peer.ActionSendConnReq || a.Kind == peer.ActionSendConnAck {
				change(&actions[i].Hello)
			}
		}
		return actions
	}
}
