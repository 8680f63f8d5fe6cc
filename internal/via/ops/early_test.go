package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// TestEarlyAnnouncementsAreBounded: announcements without a receive count towards the limit of early
// messages, so a peer that sends only announcements is held to it, too. The announced bytes do not count:
// they are still in the peer's memory.
func TestEarlyAnnouncementsAreBounded(t *testing.T) {
	g := newRig(t)
	g.connect(t)
	r := g.peer
	const size = ExpectedBytesMax
	rts := wire.RTS{Op: 1, Size: size}
	for range wire.PiecesMax {
		rts.Pieces = append(rts.Pieces, wire.Piece{Addr: 1 << 20, Handle: 1, Len: size / wire.PiecesMax})
	}
	kept := rts.Len()

	count := 0
	for left := credits; left > 0 && count < 2*EarlyMessagesMaxPerPeer; count++ {
		left += g.arrive(t, matchbits.TypeRTS, rts.Append(nil)) - 1
		require.Zero(t, g.Errors.Protocol)
	}
	require.True(t, r.Link.Withholds(), "the peer has run dry")
	limit := EarlyBytesMaxPerPeer + credits*kept
	assert.Greater(t, count*kept, EarlyBytesMaxPerPeer)
	assert.LessOrEqual(t, count*kept, limit+kept, "bytes kept of %d announcements", count)

	// Both ways of removing announcements free their memory.
	var ended []error
	for range count / 2 {
		g.post(bmi.KindRecv, 1, &ended)
	}
	require.Len(t, ended, count/2)
	assert.ErrorIs(t, ended[0], bmi.ErrTruncated)
	assert.Less(t, r.inbox.EarlyBytes(), EarlyBytesMaxPerPeer)
	assert.False(t, r.Link.Withholds())
	g.inbox.DropAnnounced(&r.inbox)
	assert.Zero(t, r.inbox.EarlyBytes())
	assert.Zero(t, r.inbox.Early())
}

// TestTakenMessagesReturnTheirCredits: a peer over its limit goes on with messages that are taken at once.
func TestTakenMessagesReturnTheirCredits(t *testing.T) {
	g := newRig(t)
	g.connect(t)
	left := credits
	for !g.peer.Link.Withholds() {
		left += g.arrive(t, matchbits.TypeExpected, nil) - 1
		require.Positive(t, left)
	}
	early := g.peer.inbox.Early()

	g.tag = 1
	var ended []error
	const count = 5 * credits
	for range count {
		left += g.arrive(t, matchbits.TypeUnexpected, nil) - 1
		g.post(bmi.KindRecv, 1, &ended)
		left += g.arrive(t, matchbits.TypeExpected, nil) - 1
		require.Positive(t, left)
	}
	assert.Equal(t, make([]error, count), ended)
	assert.Equal(t, early, g.peer.inbox.Early())
	assert.True(t, g.peer.Link.Withholds())
}
