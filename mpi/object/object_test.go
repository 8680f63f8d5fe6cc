package object_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bg is the context of calls that nothing ends.
var bg = context.Background()

// A song is a value of a type that is not a number.
type song struct {
	Title string
	Words []string
	Notes map[string]float64
}

func songOf(rank int) song {
	return song{
		Title: strings.Repeat("la", 100*rank),
		Words: []string{fmt.Sprint("one for ", rank), ""},
		Notes: map[string]float64{"c": float64(rank), "d": 0.5},
	}
}

func songs(n int) []song {
	all := make([]song, n)
	for rank := range all {
		all[rank] = songOf(rank)
	}
	return all
}

// A knot cannot be encoded.
type knot struct{ F func() }

func TestMessages(t *testing.T) {
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			if w.Rank() == 0 {
				require.NoError(t, object.Send(bg, w, songOf(3), 1, 5))
				r, err := object.Isend(w, songOf(4), 1, 6, mpi.Synchronous)
				require.NoError(t, err)
				_, err = r.Wait(bg)
				require.NoError(t, err)
				require.NoError(t, w.Send(bg, mpi.Slice([]byte{0xff, 0}), 1, 7))
				require.ErrorIs(t, object.Send(bg, w, knot{}, 1, 8), mpi.ErrType)
				_, err = object.Isend(w, knot{}, 1, 8)
				require.ErrorIs(t, err, mpi.ErrType)
			} else {
				got, st, err := object.Recv[song](bg, w, mpi.AnySource, 5)
				require.NoError(t, err)
				assert.Equal(t, songOf(3), got)
				assert.Equal(t, []int{0, 5}, []int{st.Source, st.Tag})
				// A type that fits takes its part of the value.
				title, _, err := object.Recv[struct{ Title string }](bg, w, 0, mpi.AnyTag)
				require.NoError(t, err)
				assert.Equal(t, songOf(4).Title, title.Title)
				_, _, err = object.Recv[song](bg, w, 0, 7)
				require.ErrorIs(t, err, mpi.ErrType, "bytes that are no value")
			}
			got, st, err := object.Sendrecv[song](bg, w, songOf(w.Rank()), 1-w.Rank(), 9, 1-w.Rank(), 9)
			require.NoError(t, err)
			assert.Equal(t, songOf(1-w.Rank()), got)
			assert.Equal(t, 1-w.Rank(), st.Source)
			none, st, err := object.Recv[song](bg, w, mpi.ProcNull, 1)
			require.NoError(t, err)
			assert.Zero(t, none)
			assert.Equal(t, mpi.ProcNull, st.Source)
		})
	})
}

// TestRecvEnds: a receive ends with its context, and takes no message.
func TestRecvEnds(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_, _, err := object.Recv[song](ctx, p.World(), 0, 1)
		require.ErrorIs(t, err, context.Canceled)
		_, _, err = object.Sendrecv[song](ctx, p.World(), songOf(1), 0, 2, 0, 1)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, object.Send(bg, p.World(), "later", 0, 1))
		got, _, err := object.Recv[string](bg, p.World(), 0, 1)
		require.NoError(t, err)
		assert.Equal(t, "later", got)
		if m, _, there, err := p.World().Improbe(0, 2); there { // the send of Sendrecv may have been done at once
			require.NoError(t, err)
			_, err = m.Recv(bg, mpi.Slice(make([]byte, 1000)))
			require.NoError(t, err)
		}
	})
}

func TestCollectives(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
				w := p.World()
				me, root := w.Rank(), n-1
				var v song
				if me == root {
					v = songOf(7)
				}
				require.NoError(t, object.Bcast(bg, w, &v, root))
				assert.Equal(t, songOf(7), v)

				all, err := object.Gather(bg, w, songOf(me), root)
				require.NoError(t, err)
				if me == root {
					assert.Equal(t, songs(n), all)
				} else {
					assert.Nil(t, all)
				}
				var give []song
				if me == root {
					give = songs(n)
				}
				got, err := object.Scatter(bg, w, give, root)
				require.NoError(t, err)
				assert.Equal(t, songOf(me), got)

				all, err = object.Allgather(bg, w, songOf(me))
				require.NoError(t, err)
				assert.Equal(t, songs(n), all)

				words := make([]string, n)
				for to := range words {
					words[to] = strings.Repeat("x", 10*me+to)
				}
				heard, err := object.Alltoall(bg, w, words)
				require.NoError(t, err)
				for from, word := range heard {
					assert.Len(t, word, 10*from+me)
				}

				order := ""
				for rank := range n {
					order += fmt.Sprint(rank)
				}
				join := func(a, b string) string { return a + b }
				text, err := object.Allreduce(bg, w, fmt.Sprint(me), join)
				require.NoError(t, err)
				assert.Equal(t, order, text)
				text, err = object.Reduce(bg, w, fmt.Sprint(me), join, root)
				require.NoError(t, err)
				if me == root {
					assert.Equal(t, order, text)
				} else {
					assert.Empty(t, text)
				}
			})
		})
	}
}

// TestAValueThatCannotBeSent: the process that has the value gets the reason. The others get an
// error or do not notice. The communicator works as before.
func TestAValueThatCannotBeSent(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		var v any = "fine"
		if w.Rank() == 1 {
			v = knot{func() {}}
		}
		type call struct {
			name   string
			do     func() error
			others []int // ranks that get an error besides rank 1
		}
		for _, c := range []call{
			{"bcast", func() error { x := v; return object.Bcast(bg, w, &x, 1) }, []int{0, 2}},
			{"gather", func() error { _, err := object.Gather(bg, w, v, 0); return err }, []int{0}},
			{"allgather", func() error { _, err := object.Allgather(bg, w, v); return err }, []int{0, 2}},
			{"scatter", func() error { _, err := object.Scatter(bg, w, []any{v, v, v}, 1); return err }, []int{0, 2}},
			{"alltoall", func() error { _, err := object.Alltoall(bg, w, []any{v, v, v}); return err }, []int{0, 2}},
			{"too few", func() error {
				vs := []string{"a", "b", "c"}
				if w.Rank() == 1 {
					vs = vs[:2]
				}
				_, err := object.Alltoall(bg, w, vs)
				return err
			}, []int{0, 2}},
		} {
			err := c.do()
			switch {
			case w.Rank() == 1:
				require.Error(t, err, c.name)
				assert.NotContains(t, err.Error(), "its own error says why", c.name)
			case assert.ObjectsAreEqual(c.others, []int{0}) && w.Rank() == 2:
				require.NoError(t, err, c.name)
			default:
				require.ErrorContains(t, err, "its own error says why", c.name)
			}
			sum := 1
			require.NoError(t, w.Allreduce(bg, mpi.InPlace, mpi.Value(&sum), mpi.Sum), c.name)
			assert.Equal(t, 3, sum)
		}
	})
}

// TestLengthsAreChecked: a process that announces more than there may be gets no memory for it.
func TestLengthsAreChecked(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		for _, n := range []int64{object.BytesMax + 1, -7, 1 << 62} {
			if w.Rank() == 0 {
				require.NoError(t, w.Bcast(bg, mpi.Value(&n), 0))
				continue
			}
			var v string
			require.ErrorIs(t, object.Bcast(bg, w, &v, 0), mpi.ErrCount)
		}
	})
}

func TestWrongCommunicators(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		half, err := w.Split(bg, w.Rank(), 0)
		require.NoError(t, err)
		inter, err := half.IntercommCreate(bg, 0, w, 1-w.Rank(), 1)
		require.NoError(t, err)
		v := "x"
		for name, err := range map[string]error{
			"nil":   object.Bcast(bg, nil, &v, 0),
			"inter": object.Bcast(bg, inter, &v, 0),
		} {
			assert.ErrorIs(t, err, mpi.ErrComm, name)
		}
		_, err = object.Allgather(bg, inter, v)
		assert.ErrorIs(t, err, mpi.ErrComm)
		require.NoError(t, inter.Free())
		require.NoError(t, half.Free())
	})
}
