package boot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLocal(t *testing.T, n int) ([]*LocalBoot, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wallclock.Patience)
	t.Cleanup(cancel)
	boots, err := Local(n)
	require.NoError(t, err)
	return boots, ctx
}

// each runs a function for every rank at once and waits for all.
func each(boots []*LocalBoot, do func(b *LocalBoot)) {
	var all sync.WaitGroup
	for _, b := range boots {
		all.Go(func() { do(b) })
	}
	all.Wait()
}

func TestLocalExchange(t *testing.T) {
	boots, ctx := newLocal(t, 7)
	each(boots, func(b *LocalBoot) {
		for round := range 20 {
			assert.NoError(t, b.Put(ctx, fmt.Sprintf("k-%d-%d", round, b.Rank()), fmt.Sprint(round*b.Rank())))
			assert.NoError(t, b.Fence(ctx))
			for r := range b.Size() {
				v, err := b.Get(ctx, fmt.Sprintf("k-%d-%d", round, r))
				assert.NoError(t, err)
				assert.Equal(t, fmt.Sprint(round*r), v)
			}
		}
		assert.Equal(t, boots[0].Secret(), b.Secret())
		assert.Equal(t, boots[0].JobID(), b.JobID())
		assert.NoError(t, b.Finalize(ctx))
		assert.NoError(t, b.Close())
	})
	other, _ := newLocal(t, 1)
	assert.NotEqual(t, boots[0].Secret(), other[0].Secret())
	assert.NotEqual(t, boots[0].JobID(), other[0].JobID())
}

func TestLocalKeepsTheRulesOfLaunchers(t *testing.T) {
	boots, ctx := newLocal(t, 1)
	b := boots[0]
	for _, pair := range [][2]string{{"", "v"}, {"k", ""}, {"a b", "v"}, {"k", "a=b"}, {"k", "a;b"}, {"k", "a\nb"}, {"k", "é"}} {
		assert.ErrorIs(t, b.Put(ctx, pair[0], pair[1]), errclass.Arg, "%q", pair)
	}
	assert.ErrorIs(t, b.Put(ctx, strings.Repeat("k", b.KeyMax()+1), "v"), errclass.ValueTooLarge)
	assert.ErrorIs(t, b.Put(ctx, "k", strings.Repeat("v", b.ValueMax()+1)), errclass.ValueTooLarge)
	require.NoError(t, b.Put(ctx, strings.Repeat("k", b.KeyMax()), strings.Repeat("v", b.ValueMax())))
	_, err := b.Get(ctx, strings.Repeat("k", b.KeyMax()))
	assert.ErrorIs(t, err, errclass.Arg, "not before the fence")
	assert.ErrorIs(t, b.Put(ctx, strings.Repeat("k", b.KeyMax()), "again"), errclass.Arg)
	_, err = Local(0)
	assert.ErrorIs(t, err, errclass.Arg)
}

func TestLocalAbortEndsWaits(t *testing.T) {
	boots, ctx := newLocal(t, 4)
	each(boots, func(b *LocalBoot) {
		if b.Rank() == 2 {
			assert.ErrorIs(t, b.Abort(7, "enough"), errclass.ProcAborted)
		} else {
			assert.ErrorContains(t, b.Fence(ctx), "rank 2 aborted the job with exit code 7: enough")
		}
	})
	<-boots[0].Aborted()
	assert.ErrorIs(t, boots[0].Put(ctx, "k", "v"), errclass.ProcAborted)
}

func TestLocalDoesNotWaitForTheDead(t *testing.T) {
	boots, ctx := newLocal(t, 3)
	each(boots, func(b *LocalBoot) {
		if b.Rank() == 1 {
			assert.NoError(t, b.Close())
			assert.NoError(t, b.Close())
			assert.Error(t, b.Fence(ctx))
			return
		}
		assert.NoError(t, b.Fence(ctx))
		assert.NoError(t, b.Finalize(ctx))
	})
}

func TestLocalFenceCanBeGivenUp(t *testing.T) {
	boots, ctx := newLocal(t, 2)
	early, cancel := context.WithCancelCause(ctx)
	why := errors.New("no time")
	cancel(why)
	assert.ErrorIs(t, boots[0].Fence(early), why)

	waits, giveUp := context.WithCancelCause(ctx)
	ended := make(chan error)
	go func() { ended <- boots[0].Fence(waits) }()
	require.Eventually(t, func() bool {
		boots[0].job.mu.Lock()
		defer boots[0].job.mu.Unlock()
		return boots[0].job.ranks[0].waiting
	}, wallclock.Patience, time.Millisecond)
	assert.ErrorContains(t, boots[0].Fence(ctx), "one at a time")
	giveUp(why)
	assert.ErrorIs(t, <-ended, why)
	// A later fence needs both again.
	each(boots, func(b *LocalBoot) { assert.NoError(t, b.Fence(ctx)) })
}
