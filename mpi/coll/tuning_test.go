package coll_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/colltest"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

const table = `
# what a machine measured
viaduct-tuning 1   # the header
bcast many 8 * linear
 bcast	one 4 100 linear   # 3.5 µs; binomial 4.0
bcast * * * scatter-ring
`

// TestTuning: the first rule that fits counts, and the text of a table is the table.
func TestTuning(t *testing.T) {
	tuning, err := coll.ParseTuning("t", strings.NewReader(table))
	require.NoError(t, err)
	assert.Equal(t, "viaduct-tuning 1\nbcast many 8 * linear\nbcast one 4 100 linear\nbcast * * * scatter-ring\n", tuning.String())
	again, err := coll.ParseTuning("t", strings.NewReader(tuning.String()))
	require.NoError(t, err)
	assert.Equal(t, tuning, again)

	// A linear broadcast from rank 0 takes n-1 messages of all bytes; a scatter and a ring take more.
	for _, tc := range []struct {
		n, bytes int
		hosts    []int
		linear   bool
	}{
		{4, 100, nil, true},
		{4, 101, nil, false},
		{5, 100, nil, false},
		{4, 5000, []int{0, 0, 1, 1}, true},
		{4, 100, []int{0, 1, 2, 3}, false},
		{9, 10, []int{0, 0, 0, 1, 1, 1, 2, 2, 2}, false},
	} {
		w := colltest.New(tc.n, 1).Tune(tuning)
		if tc.hosts != nil {
			w.On(tc.hosts)
		}
		require.NoError(t, w.Run(func(c coll.Comm) error { return coll.Bcast(c, make([]byte, tc.bytes), 0, nil, coll.Auto) }))
		assert.Equal(t, tc.linear, w.Messages() == tc.n-1, "%+v", tc)
	}
}

// TestStepsAreTuned: the steps of a hierarchical operation look up their own rules.
func TestStepsAreTuned(t *testing.T) {
	tuning, err := coll.ParseTuning("t", strings.NewReader("viaduct-tuning 1\nbarrier many * * hierarchical\nbarrier each * * linear\n"))
	require.NoError(t, err)
	w := colltest.New(8, 1).On([]int{0, 0, 1, 1, 2, 2, 3, 3}).Tune(tuning)
	require.NoError(t, w.Run(func(c coll.Comm) error { return coll.Barrier(c, coll.Auto) }))
	assert.Equal(t, 6, w.Between(), "the leaders' linear barrier; by dissemination it would be 8")
}

// TestUnfitRules: an algorithm that cannot do the job is not used.
func TestUnfitRules(t *testing.T) {
	tuning, err := coll.NewTuning([]coll.Rule{
		{coll.OpAllgather, coll.AnyWhere, coll.NoLimit, coll.NoLimit, coll.Doubling},
		{coll.OpBarrier, coll.OneHost, coll.NoLimit, coll.NoLimit, coll.Hierarchical},
	})
	require.NoError(t, err)
	require.NoError(t, colltest.New(3, 1).Tune(tuning).Run(func(c coll.Comm) error {
		out := make([]byte, 3)
		if err := coll.Allgather(c, []byte{byte(c.Rank())}, out, nil, coll.Auto); err != nil {
			return err
		}
		assert.Equal(t, []byte{0, 1, 2}, out)
		return coll.Barrier(c, coll.Auto)
	}))
}

// TestBadTuning: errors name the file and the line.
func TestBadTuning(t *testing.T) {
	head := "viaduct-tuning 1\n"
	for text, says := range map[string]string{
		"":                                                    `bad:1: the line "viaduct-tuning 1" is missing`,
		"# nothing\n":                                         `bad:2: the line`,
		"bcast one 1 1 linear":                                `bad:1: a tuning table begins with the line`,
		"viaduct-tuning 2\n":                                  `bad:1: a tuning table begins with the line`,
		head + "\nbcast one 4 linear":                         `bad:3: 4 words where a rule has five`,
		head + "dance one 4 4 linear":                         `bad:2: unknown operation "dance": choose from barrier, bcast`,
		head + "bcast here 4 4 linear":                        `bad:2: "here" is no place: choose from one, each, many, *`,
		head + "bcast one four 4 linear":                      `bad:2: "four" ranks: give a number or *`,
		head + "bcast one 0 4 linear":                         `bad:2: 0 ranks`,
		head + "bcast one 4 -1 linear":                        `bad:2: -1 bytes`,
		head + "bcast one 4 1e3 linear":                       `bad:2: "1e3" bytes`,
		head + "bcast one 99999999999999999999 4 linear":      `bad:2: "99999999999999999999" ranks`,
		head + "bcast one 4 4 halving":                        `bad:2: bcast has no algorithm "halving": choose from linear, binomial`,
		head + strings.Repeat("x", 5000):                      `bad:2: bufio.Scanner: token too long`,
		head + strings.Repeat("bcast one 4 4 linear\n", 2000): `bad: the rules of a tuning table have 42017 bytes`,
		head + strings.Repeat("#\n", 1<<20):                   `bad: more than 1048576 bytes`,
	} {
		_, err := coll.ParseTuning("bad", strings.NewReader(text))
		require.ErrorIs(t, err, errclass.Arg, says)
		assert.ErrorContains(t, err, says)
	}
	_, err := coll.NewTuning([]coll.Rule{{Operation: coll.OpBcast}})
	assert.ErrorContains(t, err, "rule 0")
}

// FuzzTuning: any text is a table or an error, and a table's text is the same table.
func FuzzTuning(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte("viaduct-tuning 1\nbarrier * * * hierarchical"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tuning, err := coll.ParseTuning("fuzz", bytes.NewReader(text))
		if err != nil {
			require.ErrorIs(t, err, errclass.Arg)
			return
		}
		again, err := coll.ParseTuning("again", strings.NewReader(tuning.String()))
		require.NoError(t, err)
		require.Equal(t, tuning, again)
	})
}
