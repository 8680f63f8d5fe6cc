package colltest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const seeds = 30

// TestMessages: messages arrive in order, with any seed.
func TestMessages(t *testing.T) {
	for seed := range uint64(seeds) {
		w := New(3, seed)
		require.NoError(t, w.Run(func(c coll.Comm) error {
			next, before := (c.Rank()+1)%3, (c.Rank()+2)%3
			for i := range byte(5) {
				got := []byte{99}
				if err := c.Exchange(next, []byte{i}, before, got); err != nil {
					return err
				}
				assert.Equal(t, i, got[0], "seed %d", seed)
			}
			return nil
		}))
		assert.Equal(t, 15, w.Messages())
		assert.Equal(t, 15, w.Bytes())
	}
}

func TestGroups(t *testing.T) {
	for seed := range uint64(seeds) {
		err := NewInter(1, 2, seed).RunInter(func(group int, c coll.Remote) error {
			assert.Equal(t, group+1, c.Size())
			assert.Equal(t, 2-group, c.RemoteSize())
			got := []byte{99}
			if group == 0 {
				for r := range byte(2) {
					if err := c.Send(int(r), []byte{r}); err != nil {
						return err
					}
				}
				return nil
			}
			if err := c.Recv(0, got); err != nil {
				return err
			}
			assert.Equal(t, byte(c.Rank()), got[0])
			local := c.Local()
			assert.Equal(t, 2, local.Size())
			return local.Exchange(1-c.Rank(), got, 1-c.Rank(), make([]byte, 1))
		})
		require.NoError(t, err)
	}
}

// TestFaults: every mistake is seen, by some seed.
func TestFaults(t *testing.T) {
	b := make([]byte, 8)
	for name, tc := range map[string]struct {
		run  func(c coll.Comm) error
		says string
	}{
		"both send": {func(c coll.Comm) error {
			return errors.Join(c.Send(1-c.Rank(), []byte{1}), c.Recv(1-c.Rank(), make([]byte, 1)))
		}, "nobody can go on"},
		"nobody sends": {func(c coll.Comm) error { return c.Recv(1-c.Rank(), nil) }, "nobody can go on"},
		"not received": {func(c coll.Comm) error {
			_, err := c.Isend(1-c.Rank(), []byte{1})
			return err
		}, "nobody received"},
		"not waited for": {func(c coll.Comm) error {
			if c.Rank() == 0 {
				return c.Send(1, []byte{1})
			}
			_, err := c.Irecv(0, make([]byte, 1))
			return err
		}, "never waited"},
		"waited twice": {func(c coll.Comm) error {
			if c.Rank() == 0 {
				return c.Send(1, []byte{1})
			}
			p, err := c.Irecv(0, make([]byte, 1))
			return errors.Join(err, p.Wait(), p.Wait())
		}, "waited twice"},
		"too short": {func(c coll.Comm) error {
			if c.Rank() == 0 {
				return c.Send(1, make([]byte, 2))
			}
			return c.Recv(0, make([]byte, 1))
		}, errclass.Truncate.String()},
		"same memory": {func(c coll.Comm) error {
			return c.Exchange(1-c.Rank(), b[:5], 1-c.Rank(), b[3:])
		}, "uses memory"},
		"to itself":  {func(c coll.Comm) error { return c.Send(c.Rank(), nil) }, errclass.Rank.String()},
		"to nobody":  {func(c coll.Comm) error { return c.Send(2, nil) }, errclass.Rank.String()},
		"it panics":  {func(coll.Comm) error { panic("sulking") }, "sulking"},
		"it returns": {func(coll.Comm) error { return errors.New("no mood") }, "no mood"},
		"changed too early": {func(c coll.Comm) error {
			if c.Rank() == 1 {
				got := make([]byte, 1)
				if err := c.Recv(0, got); err != nil || got[0] == 1 {
					return err
				}
				return errors.New("it was changed")
			}
			out := []byte{1}
			p, err := c.Isend(1, out)
			out[0] = 2
			return errors.Join(err, p.Wait())
		}, "it was changed"},
	} {
		seen := false
		for seed := range uint64(seeds) {
			err := New(2, seed).Run(tc.run)
			seen = seen || err != nil && assert.ErrorContains(t, err, tc.says, name)
		}
		assert.True(t, seen, name)
	}
}
