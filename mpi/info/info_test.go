package info

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func TestRandomUseAgreesWithLists(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	in := new(Info)
	var keys []string
	values := map[string]string{}
	for step := range 5000 {
		key := fmt.Sprint("k", r.IntN(12))
		switch _, there := values[key]; r.IntN(5) {
		case 0, 1:
			value := fmt.Sprint(step)
			require.NoError(t, in.Set(key, value))
			if values[key] = value; !there {
				keys = append(keys, key)
			}
		case 2:
			err := in.Delete(key)
			if !there {
				require.ErrorIs(t, err, errclass.InfoNoKey)
				break
			}
			require.NoError(t, err)
			delete(values, key)
			keys = slices.DeleteFunc(keys, func(k string) bool { return k == key })
		case 3:
			value, ok := in.Get(key)
			require.Equal(t, there, ok, "seed %d, step %d", seed, step)
			require.Equal(t, values[key], value)
		case 4:
			require.Equal(t, len(keys), in.Len())
			require.Equal(t, values, in.Map())
			for n, want := range keys {
				got, err := in.Key(n)
				require.NoError(t, err)
				require.Equal(t, want, got, "seed %d, step %d", seed, step)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	in := new(Info)
	longest, value := strings.Repeat("k", KeyBytesMax), strings.Repeat("v", ValueBytesMax)
	require.NoError(t, in.Set(longest, value))
	got, ok := in.Get(longest)
	require.True(t, ok)
	assert.Equal(t, value, got)
	require.NoError(t, in.Set("empty", ""))
	for _, key := range []string{"", longest + "k", "a\x00b"} {
		assert.ErrorIs(t, in.Set(key, "v"), errclass.InfoKey)
		assert.ErrorIs(t, in.Delete(key), errclass.InfoKey)
		_, ok := in.Get(key)
		assert.False(t, ok)
	}
	for _, v := range []string{value + "v", "\x00"} {
		assert.ErrorIs(t, in.Set("key", v), errclass.InfoValue)
	}
	assert.Equal(t, 2, in.Len())
	for _, n := range []int{-1, 2} {
		_, err := in.Key(n)
		assert.ErrorIs(t, err, errclass.Arg)
	}
}

func TestNew(t *testing.T) {
	in, err := New("b", "1", "a", "2", "b", "3")
	require.NoError(t, err)
	var got []string
	for key, value := range in.All() {
		got = append(got, key+"="+value)
	}
	assert.Equal(t, []string{"b=3", "a=2"}, got)
	for range in.All() {
		break
	}
	_, err = New("b")
	assert.ErrorIs(t, err, errclass.Arg)
	_, err = New("", "b")
	assert.ErrorIs(t, err, errclass.InfoKey)
}

func TestADuplicateIsItsOwn(t *testing.T) {
	in, err := New("b", "1", "a", "2")
	require.NoError(t, err)
	dup, err := in.Dup()
	require.NoError(t, err)
	require.NoError(t, in.Set("b", "changed"))
	require.NoError(t, dup.Delete("a"))
	assert.Equal(t, map[string]string{"b": "changed", "a": "2"}, in.Map())
	assert.Equal(t, map[string]string{"b": "1"}, dup.Map())
}

func TestInfoNull(t *testing.T) {
	var null *Info
	assert.ErrorIs(t, null.Set("a", "b"), errclass.Info)
	assert.ErrorIs(t, null.Delete("a"), errclass.Info)
	_, err := null.Dup()
	assert.ErrorIs(t, err, errclass.Info)
	_, err = null.Key(0)
	assert.ErrorIs(t, err, errclass.Arg)
	_, ok := null.Get("a")
	assert.False(t, ok)
	assert.Zero(t, null.Len())
	assert.Empty(t, null.Map())
}

func TestConcurrentUse(t *testing.T) {
	in := new(Info)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			key := fmt.Sprint("k", g)
			for i := range 200 {
				assert.NoError(t, in.Set(key, fmt.Sprint(i)))
				value, ok := in.Get(key)
				assert.True(t, ok)
				assert.Equal(t, fmt.Sprint(i), value)
				for range in.All() {
					in.Len()
				}
				if i%3 == 0 {
					assert.NoError(t, in.Delete(key))
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 8, in.Len())
}
