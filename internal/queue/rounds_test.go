package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRounds: what a round adds waits for the next, in order, and nothing is kept.
func TestRounds(t *testing.T) {
	var q Rounds[*int]
	var seen []int
	numbers := []int{0, 1, 2, 3, 4, 5}
	q.Add(&numbers[0], &numbers[1])
	q.Add(&numbers[2])
	round := func() {
		q.Each(func(n *int) {
			seen = append(seen, *n)
			if *n%2 == 0 {
				q.Add(&numbers[*n+1])
			}
		})
	}
	round()
	assert.Equal(t, []int{0, 1, 2}, seen)
	assert.Equal(t, 2, q.Len())
	assert.Equal(t, []*int{nil, nil, nil}, q.last[:3])
	round()
	assert.Equal(t, []int{0, 1, 2, 1, 3}, seen)
	round()
	assert.Zero(t, q.Len())
	assert.Len(t, seen, 5)
	assert.Zero(t, testing.AllocsPerRun(100, func() { q.Add(&numbers[1]); round(); seen = seen[:0] }))
}
