package mpi

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// narrow is a Boot of one process that takes short values, and keeps them in a map.
type narrow struct {
	boot.Boot
	max   int
	pairs map[string]string
}

func (n *narrow) Rank() int     { return 0 }
func (n *narrow) ValueMax() int { return n.max }

func (n *narrow) Put(_ context.Context, key, value string) error {
	if len(value) > n.max {
		return fmt.Errorf("%d bytes", len(value))
	}
	n.pairs[key] = value
	return nil
}

func (n *narrow) Get(_ context.Context, key string) (string, error) {
	value, ok := n.pairs[key]
	if !ok {
		return "", fmt.Errorf("no %s", key)
	}
	return value, nil
}

// TestTellAndLearn: a text of any length arrives through values of any length.
func TestTellAndLearn(t *testing.T) {
	for _, max := range []int{6, 7, 64, 1023, 100_000} {
		for _, length := range []int{0, 1, 2, max - 6, max - 5, max - 4, 2*max + 1, 4096, textBytesMax} {
			if length < 0 || length > textBytesMax {
				continue
			}
			b := &narrow{max: max, pairs: map[string]string{}}
			text := strings.Repeat("0123456789", length/10+1)[:length]
			require.NoError(t, tell(t.Context(), b, "key-", text), "%d bytes in values of %d", length, max)
			got, err := learn(t.Context(), b, "key-", 0)
			require.NoError(t, err)
			require.Equal(t, text, got)
		}
	}
	b := &narrow{max: 5, pairs: map[string]string{}}
	require.ErrorContains(t, tell(t.Context(), b, "key-", ""), "values of 5 bytes")
	b.max = 1000
	require.ErrorContains(t, tell(t.Context(), b, "key-", strings.Repeat("x", textBytesMax+1)), "8193 bytes")
}

// TestLearnNonsense: texts of other processes are checked.
func TestLearnNonsense(t *testing.T) {
	for first, says := range map[string]string{
		"":          "does not begin",
		":x":        "does not begin",
		"x":         "does not begin",
		"0:x":       "does not begin",
		"-1:x":      "does not begin",
		"99999:x":   "does not begin",
		"2:x":       "no key-0-1",
		"3000:more": "no key-0-1",
	} {
		b := &narrow{max: 100, pairs: map[string]string{"key-0": first}}
		_, err := learn(t.Context(), b, "key-", 0)
		require.ErrorIs(t, err, ErrOther, "%q", first)
		require.ErrorContains(t, err, says, "%q", first)
	}
	b := &narrow{max: 100, pairs: map[string]string{"key-0": "3:"}}
	for i := range 3 {
		b.pairs[fmt.Sprintf("key-0-%d", i)] = strings.Repeat("x", textBytesMax)
	}
	_, err := learn(t.Context(), b, "key-", 0)
	require.ErrorContains(t, err, "more than 8192 bytes")
}

// FuzzLearn: no first value does harm, and the pieces that tell makes of the result can be learned.
func FuzzLearn(f *testing.F) {
	f.Add("1:abc", "")
	f.Add("2:abc", "def")
	f.Add("x", "2:")
	f.Fuzz(func(t *testing.T, first, second string) {
		b := &narrow{max: 1000, pairs: map[string]string{"key-0": first, "key-0-1": second}}
		text, err := learn(t.Context(), b, "key-", 0)
		if err != nil || len(text) > textBytesMax {
			return
		}
		require.NoError(t, tell(t.Context(), b, "again-", text))
		again, err := learn(t.Context(), b, "again-", 0)
		require.NoError(t, err)
		require.Equal(t, text, again)
	})
}

// TestListenNames: names are valid for via+shm, and differ.
func TestListenNames(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		for _, job := range []string{"kvs_1_2", "", strings.Repeat("/ job\n", 100)} {
			names := newListenNames(job, newJobNumber())
			for _, rank := range []int{0, 1, 1 << 20} {
				name := names.of(rank)
				assert.Regexp(t, `^[a-z0-9-]{1,64}$`, name)
				assert.False(t, seen[name])
				seen[name] = true
			}
		}
	}
}

// TestIDs: those of two processes of a job or of two jobs differ.
func TestIDs(t *testing.T) {
	a, b := newJobNumber(), newJobNumber()
	seen := map[core.ProcID]bool{}
	for _, rank := range []int{0, 1, 255, 256, 1 << 20} {
		seen[a.id(rank)], seen[b.id(rank)] = true, true
	}
	assert.Len(t, seen, 10)
}

// TestExchangeCards: all processes learn the same cards, by rank.
func TestExchangeCards(t *testing.T) {
	const n = 4
	boots, err := boot.Local(n)
	require.NoError(t, err)
	results := make(chan []core.Card, n)
	for rank, b := range boots {
		go func() {
			addresses := make([]string, 30) // a card longer than one value
			for i := range addresses {
				addresses[i] = fmt.Sprintf("tcp://[fe80::%d]:%d,with=odd;signs", rank, i)
			}
			cards, err := exchangeCards(t.Context(), b, core.Card{ID: newJobNumber().id(rank), Host: "h ;=", Addresses: addresses})
			assert.NoError(t, err)
			results <- cards
		}()
	}
	first := <-results
	require.Len(t, first, n)
	for rank, card := range first {
		require.Len(t, card.Addresses, 30)
		assert.Equal(t, fmt.Sprintf("tcp://[fe80::%d]:29,with=odd;signs", rank), card.Addresses[29])
		assert.Equal(t, "h ;=", card.Host)
	}
	for range n - 1 {
		assert.Equal(t, first, <-results)
	}
}
