package stream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// TestGoneWhateverTheMethodSays: if the other side died, a later post fails with ErrUnreachable and
// a pending operation with ErrPeerFailed. Both count as ErrGone.
func TestGoneWhateverTheMethodSays(t *testing.T) {
	for _, err := range []error{bmi.ErrUnreachable, bmi.ErrPeerFailed} {
		got := new(receiver).see(bmi.Completion{User: new(block), Err: err})
		require.ErrorIs(t, got, ErrGone)
		require.ErrorIs(t, got, err)
		require.ErrorContains(t, got, "the sender is gone after 0 bytes: ")
		got = new(sender).see(bmi.Completion{Err: err})
		require.ErrorIs(t, got, ErrGone)
		require.ErrorContains(t, got, "the receiver is gone after 0 bytes: ")
	}
}
