package verdict

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	good := Run("good", func(v *T) { assert.Equal(t, "good", v.Name()) })
	assert.False(t, good.Failed())
	assert.Empty(t, good.Errors())
	assert.Empty(t, good.Skipped())

	var order []string
	bad := Run("bad", func(v *T) {
		v.Cleanup(func() { order = append(order, "first") })
		v.Cleanup(func() {
			order = append(order, "last")
			v.Cleanup(func() { order = append(order, "of a cleanup") })
			require.Fail(v, "in a cleanup")
		})
		v.Errorf("%d is wrong", 7)
		require.True(v, false)
		t.Error("FailNow did not end it")
	})
	assert.True(t, bad.Failed())
	assert.Equal(t, []string{"last", "of a cleanup", "first"}, order)
	require.Len(t, bad.Errors(), 3)
	assert.Equal(t, "7 is wrong", bad.Errors()[0])

	skipped := Run("skipped", func(v *T) {
		v.Skip("no ", "use")
		t.Error("Skip did not end it")
	})
	assert.False(t, skipped.Failed())
	assert.Equal(t, "no use", skipped.Skipped())
}

func TestRunContextDoesNotWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan struct{})
	defer close(end)
	_, err := RunContext(ctx, "endless", func(*T) {
		cancel()
		<-end
	})
	assert.ErrorIs(t, err, context.Canceled)
}
