package fuse

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestFreshness: the kernel's data is trusted once no further change can have the mtime of the version that the kernel got.
func TestFreshness(t *testing.T) {
	now := time.Unix(100_000, 0)
	var f freshness
	give := func(v version, blind bool, why string) {
		t.Helper()
		assert.Equal(t, blind, f.give(v, now, f.begin()), why)
	}
	one := version{8, now.Unix(), now.Unix()}
	give(one, false, "the kernel has nothing yet")
	give(one, true, "there may be another change in the same second")
	f.dropped(one, now)
	give(one, true, "there may still be one")
	now = now.Add(tickTime)
	give(one, true, "there may have been one")
	f.dropped(one, now)
	give(one, false, "no other change can have this time")

	for _, next := range []version{{9, one.mtime, one.ctime}, {9, one.mtime + 1, one.ctime}} {
		give(next, false, "the kernel sees the change")
		give(next, true, "there may be another one in the same second")
	}
	back := version{9, one.mtime + 1, one.ctime + 1}
	give(back, true, "its time was set to what it was")
	f.dropped(one, now.Add(tickTime))
	give(back, true, "another version was dropped")
}

// TestFreshnessOfOldFiles: clocks do not differ so much that a change could have the mtime of an old file.
func TestFreshnessOfOldFiles(t *testing.T) {
	now := time.Unix(100_000, 0)
	var f freshness
	old := version{8, now.Add(-clocksApart).Unix() - 1, now.Add(-clocksApart).Unix() - 1}
	assert.False(t, f.give(old, now, f.begin()))
	assert.False(t, f.give(old, now, f.begin()))
	old.ctime++
	assert.True(t, f.give(old, now, f.begin()), "the kernel does not look at the time of the attributes")
	assert.True(t, f.give(old, now, f.begin()), "the bytes were not dropped yet")
}

// TestFreshnessOfAnswersUnderWay: after attributes with a change, the mount does not tell the kernel to drop the data before the
// kernel has these attributes, because it would drop them too.
func TestFreshnessOfAnswersUnderWay(t *testing.T) {
	now := time.Unix(100_000, 0)
	var f freshness
	one, two := version{8, 1, 1}, version{9, 2, 2}
	f.give(one, now, f.begin())
	first, second := f.begin(), f.begin()
	assert.False(t, f.give(two, now, first))
	assert.False(t, f.give(two, now, second))

	three := version{10, 3, 3}
	assert.True(t, f.see(three, now), "found by open, which tells the kernel nothing")
	assert.False(t, f.see(three, now))
	assert.False(t, f.give(three, now, f.begin()))
}
