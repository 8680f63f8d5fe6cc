package pvfsd

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/notifytest"
)

// TestReadyAfterTheFirstAnswer: the manager gets no notification before the server has answered its own request.
func TestReadyAfterTheFirstAnswer(t *testing.T) {
	socket := notifytest.New(t)
	t.Setenv("NOTIFY_SOCKET", socket.Path())
	m, err := findManager(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NotNil(t, m)
	ctx, cancel := context.WithCancel(context.Background())
	asked, answers := make(chan struct{}), make(chan error)
	ask := func(context.Context) error {
		asked <- struct{}{}
		return <-answers
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		m.follow(ctx, ask, nil)
	}()
	for _, answer := range []error{errors.New("nobody"), errors.New("nobody"), nil} {
		<-asked
		text, quiet := socket.Quiet(time.Millisecond)
		assert.True(t, quiet, text)
		answers <- answer
	}
	require.Equal(t, "READY=1", socket.Next())
	cancel() // without a watchdog there are no more requests
	require.Equal(t, "STOPPING=1", socket.Next())
	<-left
}

// TestSelfCheck: the first address at which the server answers is used, and a refusal is an answer.
func TestSelfCheck(t *testing.T) {
	unused, ours := "tcp://"+freeport.Address(t), newAddress("mem")
	conf := newConfig(t, "--trusted", "tcp://10.0.0.0@8", "one="+ours+",tcp://127.0.0.1:0")
	_, addresses := serving(t, "--config", conf, "--dir", filepath.Join(t.TempDir(), "data"), "--create")
	for _, address := range addresses { // tcp is refused
		check, err := newSelfCheck(context.Background(), []string{unused, address})
		require.NoError(t, err)
		require.NoError(t, check.ask(context.Background()))
		require.Len(t, check.to, 1)
		assert.Equal(t, address, check.to[0].String())
		require.NoError(t, check.close())
	}
	check, err := newSelfCheck(context.Background(), []string{unused})
	require.NoError(t, err)
	require.Error(t, check.ask(context.Background()))
	require.NoError(t, check.close())
	_, err = newSelfCheck(context.Background(), []string{"no address"})
	require.Error(t, err)
}
