package via_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/ops"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

// TestSendUnexpectedNow: a message that is sent within the call arrives whole and in order with
// those that are posted; one that cannot be sent so leaves no trace.
func TestSendUnexpectedNow(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	a, ca := openSHM(t, "a", via.Options{})
	b, _ := openSHM(t, "b", via.Options{})
	toB, err := a.Lookup("via+shm://b")
	require.NoError(t, err)
	arrives := func(tag bmi.Tag, class bmi.Class, text string) {
		t.Helper()
		var out [1]bmi.Unexpected
		n, err := b.TestUnexpected(out[:], wallclock.Patience)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, tag, out[0].Tag)
		require.Equal(t, class, out[0].Class)
		require.Equal(t, text, string(out[0].Data))
		require.Equal(t, "via+shm://a", out[0].From.String())
		out[0].Release()
	}
	require.False(t, ca.SendUnexpectedNow(toB, 0, 1, []byte("early"), nil), "there is no connection")
	require.NoError(t, ca.SendUnexpected(bounded(t), toB, 0, 2, []byte("hello")))
	arrives(2, 0, "hello")

	for i := range 100 { // more than there are credits
		require.Eventually(t, func() bool { // credits come back
			return ca.SendUnexpectedNow(toB, 3, bmi.Tag(i), []byte("head "), []byte("and body"))
		}, wallclock.Patience, time.Millisecond)
		arrives(bmi.Tag(i), 3, "head and body")
	}
	require.True(t, ca.SendUnexpectedNow(toB, 0, 4, nil, nil), "an empty one")
	require.NoError(t, ca.SendUnexpected(bounded(t), toB, 0, 5, []byte("posted")))
	arrives(4, 0, "")
	arrives(5, 0, "posted")
	require.False(t, ca.SendUnexpectedNow(toB, 0, 6, make([]byte, ops.EagerBytesMax), []byte("x")), "too long")

	require.NoError(t, a.DropAddr(toB))
	require.False(t, ca.SendUnexpectedNow(toB, 0, 7, nil, nil), "a dropped address")
	var out [1]bmi.Unexpected
	n, err := b.TestUnexpected(out[:], 0)
	require.NoError(t, err)
	require.Zero(t, n, "what was not sent has arrived")
}
