package main

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

func TestNextSteps(t *testing.T) {
	assert.Equal(t, 2, nextSteps(1, time.Microsecond))
	assert.Equal(t, 64, nextSteps(32, time.Microsecond))
	assert.Equal(t, 64, nextSteps(64, time.Microsecond), "the most")
	assert.Equal(t, 1, nextSteps(64, time.Second), "slow")
}

// An echo is another side that answers every message, and ends after some.
type echo struct {
	words []uint64
	wrong bool
	left  int
}

var errOver = errors.New("over")

func (e *echo) send(word uint64) error {
	e.words = append(e.words, word)
	return nil
}

func (e *echo) recv() (uint64, error) {
	if e.left--; e.left < 0 {
		return 0, errOver
	}
	if e.wrong {
		return 99, nil
	}
	return e.words[len(e.words)-1], nil
}

func TestLeadEndsWithTheLastWord(t *testing.T) {
	e := &echo{left: 1 << 30}
	messages, took, err := leadTwice(e, time.Microsecond)
	require.NoError(t, err)
	assert.Positive(t, took)
	first := slices.Index(e.words, wordLast)
	require.Positive(t, first, "the warm-up has messages")
	counted := e.words[first+1:]
	assert.Equal(t, len(counted)-1, slices.Index(counted, wordLast), "nothing follows the last one")
	assert.Equal(t, 2*(len(counted)-1), messages, "both ways, without the last round trip")

	for _, left := range []int{0, 1} {
		_, _, err = leadTwice(&echo{left: left}, time.Hour)
		assert.ErrorIs(t, err, errOver)
	}
	_, _, err = lead(&echo{left: 1, wrong: true}, time.Nanosecond)
	assert.ErrorContains(t, err, "the answer is 99 and should be 1")
}

// A script is another side that sends some words.
type script struct {
	echo
	says []uint64
}

func (s *script) recv() (uint64, error) {
	if len(s.says) == 0 {
		return 0, errOver
	}
	word := s.says[0]
	s.says = s.says[1:]
	return word, nil
}

func TestFollowAnswersBothParts(t *testing.T) {
	says := []uint64{wordMore, wordLast, wordMore, wordMore, wordLast}
	s := &script{says: says}
	require.NoError(t, followTwice(s))
	assert.Equal(t, says, s.words)
	assert.ErrorIs(t, followTwice(&script{says: says[:2]}), errOver)
}

// thisProgram is the test, which TestMain makes a peer if it is told to be one.
func thisProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return self
}

func TestExchangesOfGoroutines(t *testing.T) {
	c := threadsContender(config{self: thisProgram(t), point: time.Millisecond})
	got, err := c.run(t.Context())
	require.NoError(t, err)
	require.Len(t, got, 3)
	for i, test := range []perf.Test{threadsOne, threadsOwn, threadsSharing} {
		assert.Equal(t, test, got[i].Test)
		assert.Positive(t, got[i].Median)
	}
	assert.Equal(t, []int{1, threadsMany, threadsMany}, []int{got[0].Window, got[1].Window, got[2].Window})
}

func TestExchangesOfNothing(t *testing.T) {
	for _, args := range [][]string{
		{roleExchange}, {roleExchange, "0", "true", "1ms"}, {roleExchange, "1", "perhaps", "1ms"}, {roleExchange, "1", "true", "0s"},
		{roleExchangeFollow, "via+shm://x", "1"}, {roleExchangeFollow, "none://x", "1", "true"},
		{roleExchangeMPI}, {roleExchangeMPI, "soon"}, {roleExchangeMPI, "1ms"}, // a job of one rank
	} {
		_, err := command(t.Context(), nil, perf.SelfCommand()[0], args...)
		assert.Error(t, err, args)
	}
}

func TestThreadsRowOfKnownNumbers(t *testing.T) {
	all := newResults()
	// The state of the processors differs between the rounds.
	for test, rounds := range map[perf.Test][]float64{threadsOne: {4e6, 1e6, 10e6}, threadsOwn: {3e6, 0.75e6, 7.5e6}, threadsSharing: {1e6, 0.5e6, 2e6}} {
		for _, v := range rounds {
			id := pointID{threads, test, rateSize}
			all.values[id] = append(all.values[id], perf.Result{Test: test, Size: rateSize, Median: v})
		}
	}
	assert.Equal(t, row{
		What:  "threads: 8 B messages of 32 goroutines with a context each",
		Value: "3.00 million/s, 0.75 × of one goroutine (4.00 million/s); one context for all 1.00 million/s, 0.25 ×",
		Reach: "≥ one goroutine", Aim: "≥ one goroutine", Verdict: isMissed,
	}, threadsRow(all))
	r := threadsRow(newResults())
	assert.Equal(t, []string{isUnknown, isUnknown}, []string{r.Value, r.Verdict})
}
