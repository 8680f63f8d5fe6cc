package methodtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// notes is a T that records the reports.
type notes struct {
	T
	errors []string
}

func (n *notes) Helper() {}
func (n *notes) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

// testLane is a lane with one pending send of four bytes and one pending receive.
func testLane() (l *lane, n *notes, send, recv *op) {
	n = &notes{}
	w := &world{T: n, s: &Subject{}}
	l = &lane{t: n, w: w, n: &node{w: w, name: "n"}}
	send = &op{l: l, what: "send", mem: newMemory(4)}
	recv = &op{l: l, what: "receive", mem: newMemory(4), recv: true}
	l.accepted(send, bmi.Posted{Op: 1})
	l.accepted(recv, bmi.Posted{Op: 2})
	return l, n, send, recv
}

func TestLaneAcceptsWhatIsRight(t *testing.T) {
	l, n, send, recv := testLane()
	l.completed(bmi.Completion{Op: 1, Size: 4, User: send})
	l.completed(bmi.Completion{Op: 2, Size: 9, Err: bmi.ErrTruncated, User: recv})
	done := &op{l: l, what: "done", mem: newMemory(4)}
	l.accepted(done, bmi.Posted{Done: true, Size: 4})
	require.Empty(t, n.errors)
	require.False(t, send.pending || recv.pending || done.pending)
	require.True(t, send.mem.poisoned && recv.mem.poisoned && done.mem.poisoned)
}

func TestLaneReportsWrongCompletions(t *testing.T) {
	for want, wrong := range map[string]func(l *lane, send, recv *op){
		"a second time": func(l *lane, send, _ *op) {
			for range 2 {
				l.completed(bmi.Completion{Op: 1, Size: 4, User: send})
			}
		},
		"and completed again": func(l *lane, _, _ *op) {
			o := &op{l: l, what: "done", mem: newMemory(4)}
			l.accepted(o, bmi.Posted{Done: true, Size: 4})
			l.completed(bmi.Completion{Op: 3, Size: 4, User: o})
		},
		"which no post gave": func(l *lane, _, _ *op) { l.completed(bmi.Completion{Op: 1}) },
		"in another context": func(l *lane, send, _ *op) {
			other := *l
			other.completed(bmi.Completion{Op: 1, Size: 4, User: send})
		},
		"completed as op 2": func(l *lane, send, _ *op) { l.completed(bmi.Completion{Op: 2, Size: 4, User: send}) },
		"with size 3":       func(l *lane, send, _ *op) { l.completed(bmi.Completion{Op: 1, Size: 3, User: send}) },
		"more than its 4":   func(l *lane, _, recv *op) { l.completed(bmi.Completion{Op: 2, Size: 5, User: recv}) },
		"returned no operation id": func(l *lane, _, _ *op) {
			l.accepted(&op{l: l, mem: newMemory(1)}, bmi.Posted{})
		},
		"the operation id 7 as well": func(l *lane, _, _ *op) {
			l.accepted(&op{l: l, mem: newMemory(1)}, bmi.Posted{Op: 7, Done: true, Size: 1})
		},
		"done with size 2": func(l *lane, _, _ *op) {
			l.accepted(&op{l: l, mem: newMemory(1)}, bmi.Posted{Done: true, Size: 2})
		},
	} {
		t.Run(want, func(t *testing.T) {
			l, n, send, recv := testLane()
			wrong(l, send, recv)
			require.NotEmpty(t, n.errors)
			require.Contains(t, strings.Join(n.errors, "\n"), want)
		})
	}
}

func TestMemoryIsWatched(t *testing.T) {
	m := message{id: 1, size: 10}
	for name, touch := range map[string]func(mem *memory){
		"before":   func(mem *memory) { mem.slab[marginSize-1]++ },
		"between":  func(mem *memory) { mem.slab[marginSize+4]++ },
		"behind":   func(mem *memory) { mem.slab[len(mem.slab)-1]++ },
		"poisoned": func(mem *memory) { mem.pieces[1][0]++ },
	} {
		mem := newMemory(4, 6)
		mem.write(m)
		require.Empty(t, mem.touched())
		require.Equal(t, -1, m.wrongAt(mem.pieces))
		mem.poison()
		require.Empty(t, mem.touched())
		require.NotEqual(t, -1, m.wrongAt(mem.pieces))
		touch(mem)
		assert.NotEmpty(t, mem.touched(), name)
	}
}

// TestMessages: every byte of a message is checked, however it is cut up, and no
// two messages are alike.
func TestMessages(t *testing.T) {
	for _, size := range []int{1, 7, 8, 9, 31, 100} {
		m := message{id: 5, size: size}
		for _, split := range splits(size) {
			mem := newMemory(split...)
			m.fill(mem.pieces)
			require.Equal(t, -1, m.wrongAt(mem.pieces))
			at := 0
			for _, p := range mem.pieces {
				for i := range p {
					p[i] ^= 0x40
					require.Equal(t, at, m.wrongAt(mem.pieces))
					p[i] ^= 0x40
					at++
				}
			}
			require.Equal(t, m.sum(), sumOf(mem.pieces, size))
		}
		require.NotEqual(t, m.sum(), message{id: 6, size: size}.sum())
		require.Equal(t, size-1, m.wrongAt(newFilled(m, size-1)), "a byte is missing")
	}
}

func newFilled(m message, size int) [][]byte {
	mem := newMemory(size)
	m.fill(mem.pieces)
	return mem.pieces
}

func TestErrorsByName(t *testing.T) {
	wrapped := fmt.Errorf("peer: %w", bmi.ErrDropped)
	require.True(t, isOneOf(wrapped, []error{bmi.ErrClosed, bmi.ErrDropped}))
	require.False(t, isOneOf(wrapped, []error{bmi.ErrClosed}))
	require.True(t, isOneOf(errors.New("any"), nil))
	require.False(t, isOneOf(nil, nil))
	require.False(t, isOneOf(nil, []error{bmi.ErrClosed}))
}
