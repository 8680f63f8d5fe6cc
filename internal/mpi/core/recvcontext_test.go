package core_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// TestAbandoned: a receive is abandoned while its message moves. Late data is discarded. Close
// waits for the rest of it, or for the death of its sender.
func TestAbandoned(t *testing.T) {
	for name, rest := range map[string]int{"the rest comes": 3, "the sender dies": 0} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			defer s.close()
			a := s.nodes[0]
			s.say(wire.KindHello, s.hello().Append(nil))
			const piece, pieces = 1000, 4
			s.say(wire.KindRTS, wire.RTS{ID: 1, Bits: wire.MakeBits(2, 2, 5), Size: piece * pieces, Piece: piece}.Append(nil))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in := room(piece * pieces)
			_, err := a.s.RecvContext(ctx, in, 2, 5)
			require.Error(t, err, "nobody waits in a stage")
			// The first tag that a process chooses is 1.
			piecesOf := func(n int) {
				for range n {
					_, err := s.ctx.PostSend(s.addr, 1, mem(piece, 7).Mem, nil)
					require.NoError(t, err)
					s.step()
				}
			}
			piecesOf(1)
			ended, end := context.WithCancel(t.Context())
			end()
			assert.Equal(t, room(piece*pieces).Mem, in.Mem, "the memory is the caller's")
			s.talk()
			if rest == 0 {
				s.hangUp(s.mean)
			}
			piecesOf(rest)
			s.step()
			assert.Equal(t, room(piece*pieces).Mem, in.Mem, "the memory is the caller's")
			s.talk()
			require.NoError(t, a.e.Close(ended))
		})
	}
}
