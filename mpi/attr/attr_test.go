package attr

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// object stands for a communicator; its name is what functions are given.
type object string

// journal is what functions were called with.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) write(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// key makes a key whose functions write to the journal; values get a mark when copied.
func (j *journal) key(name string) *Keyval[object] {
	return NewKeyval(
		func(old object, _ *Keyval[object], value any) (any, bool, error) {
			j.write("copy %s of %s: %v", name, old, value)
			return fmt.Sprint(value, "'"), true, nil
		},
		func(o object, _ *Keyval[object], value any) error {
			j.write("delete %s of %s: %v", name, o, value)
			return nil
		})
}

func get(t *testing.T, l *List[object], k *Keyval[object]) any {
	t.Helper()
	value, ok, err := l.Get(k)
	require.NoError(t, err)
	if !ok {
		return nil
	}
	return value
}

func TestPutGetDelete(t *testing.T) {
	var j journal
	var l List[object]
	a, b := j.key("a"), j.key("b")
	assert.Nil(t, get(t, &l, a))
	require.NoError(t, l.Put("comm", a, 1))
	require.NoError(t, l.Put("comm", b, 2))
	assert.Equal(t, 1, get(t, &l, a))
	assert.Equal(t, 2, get(t, &l, b))
	assert.Empty(t, j.take())

	require.NoError(t, l.Put("comm", a, 3))
	assert.Equal(t, []string{"delete a of comm: 1"}, j.take())
	assert.Equal(t, 3, get(t, &l, a))

	require.NoError(t, l.Delete("comm", a))
	assert.Equal(t, []string{"delete a of comm: 3"}, j.take())
	assert.Nil(t, get(t, &l, a))
	require.ErrorIs(t, l.Delete("comm", a), errclass.Keyval)
	assert.Equal(t, 1, l.Len())
}

func TestANilValueIsAnAttribute(t *testing.T) {
	var l List[object]
	k := NewKeyval[object](nil, nil)
	require.NoError(t, l.Put("comm", k, nil))
	_, ok, err := l.Get(k)
	require.NoError(t, err)
	assert.True(t, ok)
}

// A value that is replaced counts as stored last.
func TestDeleteAllGoesBackwards(t *testing.T) {
	var j journal
	var l List[object]
	a, b, c := j.key("a"), j.key("b"), j.key("c")
	for _, k := range []*Keyval[object]{a, b, c} {
		require.NoError(t, l.Put("self", k, "v"))
	}
	require.NoError(t, l.Put("self", a, "w"))
	j.take()
	require.NoError(t, l.DeleteAll("self"))
	assert.Equal(t, []string{"delete a of self: w", "delete c of self: v", "delete b of self: v"}, j.take())
	assert.Zero(t, l.Len())
}

func TestDeleteAllTakesWhatDeleteFunctionsStore(t *testing.T) {
	var j journal
	var l List[object]
	late := j.key("late")
	k := NewKeyval(nil, func(o object, _ *Keyval[object], _ any) error { return l.Put(o, late, "x") })
	require.NoError(t, l.Put("self", k, 0))
	require.NoError(t, l.DeleteAll("self"))
	assert.Equal(t, []string{"delete late of self: x"}, j.take())
	assert.Zero(t, l.Len())
}

func TestCopy(t *testing.T) {
	var j journal
	var l, dup List[object]
	a, b := j.key("a"), j.key("b")
	not := NewKeyval(func(object, *Keyval[object], any) (any, bool, error) { return 9, false, nil }, nil)
	null := NewKeyval[object](nil, nil)
	same := NewKeyval(KeepValue[object], nil)
	for i, k := range []*Keyval[object]{a, not, null, same, b} {
		require.NoError(t, l.Put("old", k, i))
	}
	require.NoError(t, l.CopyTo("old", &dup, "new"))
	assert.Equal(t, []string{"copy a of old: 0", "copy b of old: 4"}, j.take())
	assert.Equal(t, 3, dup.Len())
	assert.Equal(t, "0'", get(t, &dup, a))
	assert.Equal(t, "4'", get(t, &dup, b))
	assert.Equal(t, 3, get(t, &dup, same))
	assert.Nil(t, get(t, &dup, not))
	assert.Nil(t, get(t, &dup, null))
	assert.Equal(t, 0, get(t, &l, a), "the old object keeps its own")
	require.NoError(t, dup.DeleteAll("new"))
	assert.Equal(t, []string{"delete b of new: 4'", "delete a of new: 0'"}, j.take())
}

var errNo = errors.New("no")

func TestACopyThatFailsLeavesNothingBehind(t *testing.T) {
	var j journal
	var l, dup List[object]
	a, b := j.key("a"), j.key("b")
	bad := NewKeyval(func(object, *Keyval[object], any) (any, bool, error) { return nil, true, errNo }, nil)
	for _, k := range []*Keyval[object]{a, b, bad, j.key("c")} {
		require.NoError(t, l.Put("old", k, 1))
	}
	err := l.CopyTo("old", &dup, "new")
	require.ErrorIs(t, err, errNo)
	require.ErrorIs(t, err, errclass.Other)
	assert.Zero(t, dup.Len())
	assert.Equal(t, 4, l.Len())
	assert.Equal(t, []string{
		"copy a of old: 1", "copy b of old: 1", "delete b of new: 1'", "delete a of new: 1'",
	}, j.take())
}

func TestADeleteThatFailsChangesNothing(t *testing.T) {
	var j journal
	var l List[object]
	fails := true
	a, c := j.key("a"), j.key("c")
	stuck := NewKeyval(nil, func(object, *Keyval[object], any) error {
		if fails {
			return errclass.New(errclass.NoMem, "stuck")
		}
		return nil
	})
	for i, k := range []*Keyval[object]{a, stuck, c} {
		require.NoError(t, l.Put("comm", k, i))
	}
	require.ErrorIs(t, l.Delete("comm", stuck), errclass.NoMem, "the class is the function's")
	assert.Equal(t, 1, get(t, &l, stuck))
	require.ErrorIs(t, l.Put("comm", stuck, 7), errclass.NoMem)
	assert.Equal(t, 1, get(t, &l, stuck))
	require.ErrorIs(t, l.DeleteAll("comm"), errclass.NoMem)
	assert.Equal(t, []string{"delete c of comm: 2"}, j.take(), "its place in the order is the old one")
	assert.Equal(t, 2, l.Len())

	fails = false
	require.NoError(t, l.DeleteAll("comm"))
	assert.Equal(t, []string{"delete a of comm: 0"}, j.take())
}

// A value that was stored while the one before it could not be deleted stays.
func TestAFailedDeleteDoesNotBringBackAReplacedValue(t *testing.T) {
	var l List[object]
	first := true
	var k *Keyval[object]
	k = NewKeyval(nil, func(o object, _ *Keyval[object], _ any) error {
		if !first {
			return nil
		}
		first = false
		require.NoError(t, l.Put(o, k, "new"))
		return errNo
	})
	require.NoError(t, l.Put("comm", k, "old"))
	require.ErrorIs(t, l.Delete("comm", k), errNo)
	assert.Equal(t, "new", get(t, &l, k))
	assert.Equal(t, 1, l.Len())
}

func TestSuccessIsNoError(t *testing.T) {
	var l List[object]
	k := NewKeyval(nil, func(object, *Keyval[object], any) error { return errclass.Success })
	require.NoError(t, l.Put("comm", k, 1))
	assert.Equal(t, errclass.Other, errclass.Of(l.Delete("comm", k)))
}

func TestAFreedKeyLivesInItsAttributes(t *testing.T) {
	var j journal
	var l, dup, other List[object]
	a := j.key("a")
	require.NoError(t, l.Put("comm", a, 1))
	require.NoError(t, a.Free())
	require.ErrorIs(t, a.Free(), errclass.Keyval)
	assert.Equal(t, 1, get(t, &l, a))
	require.ErrorIs(t, l.Put("comm", a, 2), errclass.Keyval)
	_, _, err := other.Get(a)
	require.ErrorIs(t, err, errclass.Keyval)
	require.NoError(t, l.CopyTo("comm", &dup, "new"), "copies refer to the key as well")
	require.NoError(t, l.Delete("comm", a))
	require.NoError(t, dup.DeleteAll("new"))
	assert.Equal(t, []string{"copy a of comm: 1", "delete a of comm: 1", "delete a of new: 1'"}, j.take())
	_, _, err = l.Get(a)
	require.ErrorIs(t, err, errclass.Keyval)
}

func TestANilKeyIsRefused(t *testing.T) {
	var l List[object]
	var null *Keyval[object]
	_, _, err := l.Get(null)
	assert.ErrorIs(t, err, errclass.Keyval)
	assert.ErrorIs(t, l.Put("comm", null, 1), errclass.Keyval)
	assert.ErrorIs(t, l.Delete("comm", null), errclass.Keyval)
	assert.ErrorIs(t, null.Free(), errclass.Keyval)
}

func TestFixedAttributesAreReadOnly(t *testing.T) {
	var l List[object]
	k := NewFixed[object]()
	assert.ErrorIs(t, l.Put("world", k, 7), errclass.Keyval)
	assert.ErrorIs(t, l.Delete("world", k), errclass.Keyval)
	assert.ErrorIs(t, k.Free(), errclass.Keyval)
	assert.Zero(t, l.Len())
}

// Functions use the attributes of the object that they are called for.
func TestFunctionsMayUseTheList(t *testing.T) {
	var j journal
	var l, dup List[object]
	plain := j.key("plain")
	k := NewKeyval(
		func(old object, k *Keyval[object], value any) (any, bool, error) {
			assert.Equal(t, 1, get(t, &l, plain))
			assert.Equal(t, value, get(t, &l, k))
			return value, true, l.Put(old, plain, 2)
		},
		func(o object, k *Keyval[object], _ any) error {
			assert.Nil(t, get(t, &l, k), "it is as good as gone")
			return l.Delete(o, plain)
		})
	require.NoError(t, l.Put("comm", plain, 1))
	require.NoError(t, l.Put("comm", k, "v"))
	require.NoError(t, l.CopyTo("comm", &dup, "new"))
	j.take()
	require.NoError(t, l.Delete("comm", k))
	assert.Equal(t, []string{"delete plain of comm: 2"}, j.take())
	assert.Zero(t, l.Len())
}

// Whatever goroutines do at once, every value that was stored is deleted exactly once.
func TestConcurrentChangesDeleteEachValueOnce(t *testing.T) {
	var l List[object]
	var mu sync.Mutex
	deleted := map[int]int{}
	keys := make([]*Keyval[object], 3)
	for i := range keys {
		keys[i] = NewKeyval(nil, func(_ object, _ *Keyval[object], value any) error {
			mu.Lock()
			defer mu.Unlock()
			deleted[value.(int)]++
			return nil
		})
	}
	const goroutines, puts = 8, 300
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range puts {
				k := keys[r.IntN(len(keys))]
				assert.NoError(t, l.Put("comm", k, g*puts+i))
				_, _, err := l.Get(k)
				assert.NoError(t, err)
				if r.IntN(4) == 0 {
					if err := l.Delete("comm", k); err != nil {
						assert.ErrorIs(t, err, errclass.Keyval)
					}
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, l.DeleteAll("comm"))
	require.Len(t, deleted, goroutines*puts)
	for value, times := range deleted {
		require.Equal(t, 1, times, "value %d", value)
	}
}
