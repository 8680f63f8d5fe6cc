package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEventsRunByTimeThenByOrderOfMaking(t *testing.T) {
	w := New(Options{Seed: 1})
	var got []string
	note := func(s string) func() { return func() { got = append(got, fmt.Sprintf("%s@%v", s, w.Now())) } }
	w.After(2*time.Second, note("c"))
	w.After(time.Second, note("a"))
	w.After(time.Second, note("b"))
	gone := w.After(time.Second, note("cancelled"))
	w.Cancel(gone)
	w.Cancel(gone)
	w.Cancel(nil)
	require.NoError(t, w.RunUntilIdle(func() {}))
	assert.Equal(t, []string{"a@1s", "b@1s", "c@2s"}, got)
	w.At(0, note("past"))
	w.AdvanceTo(5 * time.Second)
	assert.Equal(t, "past@2s", got[3])
	assert.Equal(t, 5*time.Second, w.Now())
}

// transcript records the effects of a lossy link on 200 packets under a seed.
func transcript(seed uint64) string {
	w := New(Options{Seed: seed})
	w.opts.Link = RandomLink(w.Rand())
	s := ""
	for i := range 200 {
		w.Link("a", "b").Send(func(corrupt bool) { s += fmt.Sprintf("%d %v %v\n", i, corrupt, w.Now()) })
	}
	for w.Step() {
	}
	return s
}

func TestASeedReplaysExactly(t *testing.T) {
	Run(t, func(t *testing.T, seed uint64) {
		assert.Equal(t, transcript(seed), transcript(seed))
		assert.NotEqual(t, transcript(seed), transcript(seed+1000))
	})
}

func TestLinkFaults(t *testing.T) {
	count := func(o LinkOptions) (arrived, corrupted, overtaken int) {
		w := New(Options{Seed: 7, Link: o})
		last := -1
		for i := range 1000 {
			w.Link("a", "b").Send(func(corrupt bool) {
				arrived++
				if corrupt {
					corrupted++
				}
				if i < last {
					overtaken++
				}
				last = max(last, i)
			})
		}
		for w.Step() {
		}
		return arrived, corrupted, overtaken
	}
	arrived, corrupted, overtaken := count(LinkOptions{DelayMean: time.Second})
	assert.Equal(t, [3]int{1000, 0, 0}, [3]int{arrived, corrupted, overtaken}, "a link without faults")
	arrived, _, _ = count(LinkOptions{Loss: 0.3})
	assert.InDelta(t, 700, arrived, 60)
	arrived, _, _ = count(LinkOptions{Duplicate: 0.3})
	assert.InDelta(t, 1300, arrived, 60)
	_, corrupted, _ = count(LinkOptions{Corrupt: 0.3})
	assert.InDelta(t, 300, corrupted, 60)
	_, _, overtaken = count(LinkOptions{DelayMean: time.Second, Reorder: 0.3})
	assert.Greater(t, overtaken, 100)
	arrived, _, _ = count(LinkOptions{DelayMean: time.Second, Capacity: 10})
	assert.Equal(t, 10, arrived)
}

func TestCutAndHeal(t *testing.T) {
	w := New(Options{Seed: 1})
	got := ""
	send := func(from, to string) { w.Link(from, to).Send(func(bool) { got += from + to + " " }) }
	w.CutOneWay("a", "b")
	send("a", "b")
	send("b", "a")
	for w.Step() {
	}
	w.Heal("a", "b")
	send("a", "b")
	w.Cut("b", "a")
	send("b", "a")
	for w.Step() {
	}
	w.HealAll()
	send("b", "a")
	for w.Step() {
	}
	assert.Equal(t, "ba ba ", got)
}

func TestRunUntilReportsWhatIsNotLive(t *testing.T) {
	w := New(Options{Seed: 42})
	err := w.RunUntil(func() bool { return false })
	require.ErrorIs(t, err, ErrNotLive)
	assert.Contains(t, err.Error(), "seed 42")

	w = New(Options{StepsMax: 100})
	var again func()
	again = func() { w.After(time.Nanosecond, again) }
	again()
	require.ErrorIs(t, w.RunUntil(func() bool { return false }), ErrNotLive)

	w = New(Options{TimeMax: time.Second})
	w.After(time.Minute, func() {})
	require.ErrorIs(t, w.RunUntilIdle(func() {}), ErrNotLive)
}
