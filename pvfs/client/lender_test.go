package client

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bank is the source of a lender's memory. Unused bytes of it cost nothing.
type bank struct {
	t  *testing.T
	mu sync.Mutex

	out   map[*byte]int // not freed yet; bytes
	bytes int
	none  error
}

func newLender(t *testing.T) (*lender, *bank) {
	b := &bank{t: t, out: make(map[*byte]int)}
	return &lender{
		alloc: func(size int) ([]byte, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.none != nil {
				return nil, b.none
			}
			mem := make([]byte, size)
			b.out[&mem[0]] = size
			b.bytes += size
			return mem, nil
		},
		free: func(mem []byte) {
			b.mu.Lock()
			defer b.mu.Unlock()
			assert.Equal(t, len(mem), b.out[&mem[0]], "it is freed twice, or was never made")
			delete(b.out, &mem[0])
			b.bytes -= len(mem)
		},
	}, b
}

// TestLentMemoryIsBounded returns many pieces, and much memory.
func TestLentMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := newLender(t)
		for i := range 3 * lentKeptMax {
			l.give(l.take(1 + i))
			require.LessOrEqual(t, len(b.out), lentKeptMax)
		}
		assert.Len(t, b.out, lentKeptMax)
		a, c := l.take(100<<20), l.take(100<<20)
		require.NotSame(t, &a[0], &c[0])
		l.give(a)
		l.give(c)
		assert.Equal(t, 100<<20, b.bytes, "the older one is freed, and all before it")
		require.Same(t, &c[0], &l.take(100 << 20)[0])
		l.give(c)
		l.give(l.take(lentKeptBytesMax + 1))
		assert.Equal(t, 100<<20, b.bytes, "what is too much by itself drives nothing out")
		l.close(true)
		assert.Empty(t, b.out)
	})
}

// TestLentMemoryIsFreedInTime: unused memory is freed after a while.
func TestLentMemoryIsFreedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := newLender(t)
		l.give(l.take(10))
		time.Sleep(lentKeptTime / 2)
		l.give(l.take(20))
		used := l.take(30)
		time.Sleep(lentKeptTime/2 - 1)
		synctest.Wait()
		assert.Equal(t, 60, b.bytes)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, 50, b.bytes, "the older one is freed")
		time.Sleep(lentKeptTime / 2)
		synctest.Wait()
		assert.Equal(t, 30, b.bytes, "what is lent stays")
		l.give(used)
		again := l.take(30)
		require.Same(t, &used[0], &again[0])
		time.Sleep(2 * lentKeptTime)
		l.give(again)
		time.Sleep(lentKeptTime - 1)
		synctest.Wait()
		assert.Equal(t, 30, b.bytes, "its time begins when it is given back")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Empty(t, b.out)
		assert.Empty(t, l.kept)
		assert.Zero(t, l.bytes)
	})
}

// TestLentMemoryAfterTheEnd: memory may be returned after the file system was closed.
func TestLentMemoryAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := newLender(t)
		l.give(l.take(10))
		mem := l.take(20)
		b.none = errors.New("no memory")
		assert.Nil(t, l.take(30))
		l.close(true)
		assert.Nil(t, l.take(10))
		l.give(mem)
		assert.Empty(t, b.out)
		time.Sleep(2 * lentKeptTime)

		l, b = newLender(t)
		l.give(l.take(10))
		l.close(false)
		assert.Equal(t, 10, b.bytes, "the endpoint frees it")
		time.Sleep(2 * lentKeptTime)
		synctest.Wait()
		assert.Equal(t, 10, b.bytes)
	})
}
