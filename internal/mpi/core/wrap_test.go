package core

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
)

// The counters of sent and consumed bytes wrap at 32 bits, within a window and between two, for
// messages that are expected, that wait, and that are announced.
func TestCountsWrap(t *testing.T) {
	step := uint32(61)
	if testing.Short() {
		step = 487
	}
	noError := func(err error) {
		if err != nil { // require.NoError would be too slow for all these messages
			require.NoError(t, err)
		}
	}
	for before := uint32(0); before < 4096; before += step {
		net := bmitest.NewNetwork()
		cards := []Card{{ID: ProcID{1}, Addresses: []string{"mem://a"}}, {ID: ProcID{2}, Addresses: []string{"mem://b"}}}
		var es [2]*Engine
		var ss [2]*Scope
		for i, name := range []string{"mem://a", "mem://b"} {
			ep, err := bmi.Open(context.Background(), bmi.Config{
				Listen: []string{name}, Manual: true,
				Options: map[string]any{bmitest.Name: bmitest.Options{Network: net}},
			})
			require.NoError(t, err)
			defer func() { _ = ep.Close() }()
			es[i], err = New(Config{Endpoint: ep, Self: cards[i], Manual: true, Seed: 1, Limits: Limits{WindowBytes: windowMin}})
			require.NoError(t, err)
			var all []*Proc
			for j, c := range cards {
				p, err := es[i].Proc(c)
				require.NoError(t, err)
				all = append(all, p)
				if i != j {
					n := uint32(math.MaxUint32) - before
					p.charged, p.returned, p.arrived, p.consumed, p.told = n, n, n, n, n
				}
			}
			ss[i], err = es[i].OpenScope(2, i, all)
			require.NoError(t, err)
		}
		in, out := make([]byte, 300), make([]byte, 300)
		for round := range 60 {
			var sends []Request
			var got Request
			var err error
			if round%2 == 0 {
				got, err = ss[1].Irecv(Buffer{Mem: in}, 0, 0)
				noError(err)
			}
			many := 1 + round%3*40 // more than the window holds
			for n := range many {
				out[0] = byte(n)
				r, err := ss[0].Isend([]Mode{Standard, Synchronous}[n%2], Buffer{Mem: append([]byte(nil), out...)}, 1, 0)
				noError(err)
				sends = append(sends, r)
			}
			es[1].Progress()
			for n := range many {
				if n > 0 || round%2 == 1 {
					got, err = ss[1].Irecv(Buffer{Mem: in}, 0, 0)
					noError(err)
				}
				for ok := false; !ok; {
					es[0].Progress()
					_, ok, err = got.Test()
					noError(err)
				}
				if in[0] != byte(n) {
					require.Equal(t, byte(n), in[0])
				}
			}
			for _, r := range sends {
				for ok := false; !ok; {
					es[1].Progress()
					_, ok, err = r.Test()
					noError(err)
				}
			}
		}
		p := es[1].procs[ProcID{1}]
		require.Less(t, p.arrived, uint32(1<<30), "it wrapped")
		require.Equal(t, p.arrived, p.consumed)
	}
}
