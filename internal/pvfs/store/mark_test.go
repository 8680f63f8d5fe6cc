package store

import (
	"bytes"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestMarkRule lists when a datafile of 100 bytes can be synced again after a failed sync.
func TestMarkRule(t *testing.T) {
	write := func(off, n int) func(*testing.T, *Store, proto.Handle) {
		return func(t *testing.T, s *Store, h proto.Handle) {
			_, err := s.WriteAt(h, make([]byte, n), int64(off))
			require.NoError(t, err)
		}
	}
	truncate := func(size int64) func(*testing.T, *Store, proto.Handle) {
		return func(t *testing.T, s *Store, h proto.Handle) { require.NoError(t, s.Truncate(h, size)) }
	}
	type steps = []func(*testing.T, *Store, proto.Handle)
	for name, c := range map[string]struct {
		steps steps
		good  bool
	}{
		"nothing":                     {nil, false},
		"all":                         {steps{write(0, 100)}, true},
		"all and more":                {steps{write(0, 1000)}, true},
		"all, in pieces in any order": {steps{write(90, 10), write(0, 20), write(20, 1), write(30, 60), write(10, 25)}, true},
		"all but the last byte":       {steps{write(0, 99)}, false},
		"all but the first byte":      {steps{write(1, 99)}, false},
		"all but one in the middle":   {steps{write(0, 50), write(51, 49)}, false},
		"only what is behind":         {steps{write(100, 100)}, false},
		"truncated to nothing":        {steps{truncate(0)}, true},
		"and written to since":        {steps{truncate(0), write(50, 10)}, true},
		"truncated":                   {steps{truncate(50)}, false},
		"and the rest written":        {steps{truncate(50), write(0, 50)}, true},
		"written, then truncated":     {steps{write(0, 50), truncate(50)}, true},
		"truncated, and then larger":  {steps{truncate(50), truncate(200), write(0, 50)}, true},
		"larger":                      {steps{truncate(200), write(0, 50)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := failing(t, memory.Dir(t), func(*Options) {})
			h := written(t, s, 100)
			d.Set(once(disktest.Sync, syscall.EIO))
			require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
			for _, step := range c.steps {
				step(t, s, h)
			}
			for range 2 {
				if err := s.SyncDatafile(h); c.good {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, syscall.EIO)
				}
			}
			if c.good {
				assert.Zero(t, s.Stats().Marked)
				requireClean(t, s)
			}
		})
	}
}

// TestMarkOfASecondFailure: bytes truncated before it may reappear after a power loss, so the record keeps the larger length.
// Rewritten bytes may be lost again.
func TestMarkOfASecondFailure(t *testing.T) {
	dir := memory.Dir(t)
	s, d := failing(t, dir, func(*Options) {})
	h := written(t, s, 100)
	write := func(off, n int) {
		_, err := s.WriteAt(h, make([]byte, n), int64(off))
		require.NoError(t, err)
	}
	fail := func() {
		d.Set(once(disktest.Sync, syscall.EIO))
		require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	}
	fail()
	require.NoError(t, s.Truncate(h, 50))
	write(0, 25)
	fail()
	write(25, 25)
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO, "the first 25 bytes are lost again")
	require.NoError(t, s.Close())
	s, _ = failing(t, dir, func(*Options) {})
	write(0, 50)
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	write(50, 50)
	require.NoError(t, s.SyncDatafile(h))
}

// A fragile is a datafile on a disk that loses pages, byte by byte, when a sync fails.
type fragile struct {
	cache, disk []byte // the kernel's contents, and the disk's
	dirty       []bool // bytes of cache that are not on the disk and will be written
	may         []bool // bytes that may be lost: the expected mark, nil for none
	length      int    // largest length at the failures, while there is a mark
}

// sync simulates the kernel, and then the expected behaviour of the store.
func (m *fragile) sync(rng *rand.Rand, fails bool) (good bool) {
	for i := range m.dirty {
		if m.dirty[i] && (!fails || rng.IntN(2) == 0) {
			m.disk[i] = m.cache[i]
		}
		m.dirty[i] = false
	}
	if fails {
		m.length = max(m.length, len(m.cache), 1)
		m.may = slicesOf(max(len(m.may), len(m.cache), 1), true)
		return false
	}
	for _, lost := range m.may {
		if lost {
			return false
		}
	}
	m.may, m.length = nil, 0
	return true
}

func slicesOf(n int, v bool) []bool {
	b := make([]bool, n)
	for i := range b {
		b[i] = v
	}
	return b
}

func (m *fragile) resize(n int) {
	for len(m.cache) < n { // a hole is on the disk as soon as the size is
		m.cache, m.disk, m.dirty = append(m.cache, 0), append(m.disk, 0), append(m.dirty, false)
	}
	m.cache, m.disk, m.dirty = m.cache[:n], m.disk[:n], m.dirty[:n]
}

// TestMarkAgainstModel writes, truncates, syncs and restarts, and makes syncs fail. A sync must succeed when the rule says so,
// and only if every byte is on the disk.
func TestMarkAgainstModel(t *testing.T) {
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 17))
	dir := memory.Dir(t)
	d := new(disktest.Disk)
	opts := with(func(o *Options) { o.Disk, o.OpenFiles = d, 1 })
	s := open(t, dir, opts)
	h, other := create(t, s, DataSpace, proto.TypeDatafile), written(t, s, 1)
	m := new(fragile)
	failures, ends := 0, 0
	for step := range 1200 {
		switch rng.IntN(12) {
		case 0: // the file is closed
			_, err := s.ReadAt(other, make([]byte, 1), 0)
			require.NoError(t, err)
		case 1:
			if rng.IntN(4) == 0 {
				require.NoError(t, s.Close())
				s = open(t, dir, opts)
				m.may = slicesOf(m.length, true)
			}
		case 2:
			n := rng.IntN(24)
			require.NoError(t, s.Truncate(h, int64(n)))
			m.resize(n)
			m.may = m.may[:min(n, len(m.may))]
		case 3, 4, 5, 6, 7, 8:
			off, n := rng.IntN(20), 1+rng.IntN(8)
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(1 + rng.IntN(255))
			}
			_, err := s.WriteAt(h, b, int64(off))
			require.NoError(t, err)
			m.resize(max(len(m.cache), off+n))
			for i := range n {
				m.cache[off+i], m.dirty[off+i] = b[i], true
				if off+i < len(m.may) {
					m.may[off+i] = false
				}
			}
		default:
			fails := rng.IntN(4) == 0 && len(m.cache) > 0
			plan := disktest.Plan(nil)
			if fails {
				plan = once(disktest.Sync, syscall.EIO)
				failures++
			}
			d.Set(plan)
			was := m.may != nil
			err := s.SyncDatafile(h)
			if m.sync(rng, fails) {
				require.NoError(t, err, "step %d", step)
				require.True(t, bytes.Equal(m.cache, m.disk), "step %d: it is not on the disk", step)
				if was {
					ends++
				}
			} else {
				require.ErrorIs(t, err, syscall.EIO, "step %d", step)
			}
			marked := 0
			if m.may != nil {
				marked = 1
			}
			require.Equal(t, marked, s.Stats().Marked, "step %d", step)
		}
	}
	t.Logf("%d syncs failed; %d times all was written again", failures, ends)
	require.NotZero(t, ends)
}

// TestMarkPieces compares a mark's pieces with a bool for each byte.
func TestMarkPieces(t *testing.T) {
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 18))
	for range 50 {
		const size = 40
		m, lost := newMark(size, false), slicesOf(size, true)
		for !m.rewritten() {
			off, n := rng.IntN(size+5), rng.IntN(6)
			m.wrote(int64(off), int64(n))
			for i := off; i < min(off+n, size); i++ {
				lost[i] = false
			}
			got := slicesOf(size, true)
			for i, p := range m.again {
				require.Less(t, p.from, p.to)
				if i > 0 {
					require.Greater(t, p.from, m.again[i-1].to, "apart from one another")
				}
				for at := p.from; at < p.to; at++ {
					got[at] = false
				}
			}
			require.Equal(t, lost, got)
		}
		require.NotContains(t, lost, true)
	}
}

// TestMarkPiecesAreBounded: a client that writes bytes far apart uses little memory. Pieces that were dropped must be written
// once more.
func TestMarkPiecesAreBounded(t *testing.T) {
	const size = 4 * piecesMax
	m := newMark(size, false)
	for i := range int64(size / 2) {
		m.wrote(2*i, 1)
	}
	assert.Len(t, m.again, piecesMax)
	for i := range int64(size / 2) {
		m.wrote(2*i+1, 1)
	}
	assert.False(t, m.rewritten())
	m.wrote(0, size)
	assert.True(t, m.rewritten())
	assert.Len(t, m.again, 1)
}

func TestMarkRecords(t *testing.T) {
	key := handleKey(7)
	for _, m := range []*mark{newMark(1, false), newMark(1<<40, true), newMark(math.MaxInt64, false)} {
		record := sealMark(key, m)
		got, err := unsealMark(key, record)
		require.NoError(t, err)
		assert.Equal(t, m.length, got.length)
		assert.Equal(t, m.length, got.left)
		assert.Equal(t, m.name, got.name)
		for n := range record {
			_, err := unsealMark(key, record[:n])
			require.ErrorIs(t, err, syscall.EIO)
		}
	}
	for _, body := range [][]byte{{}, {0}, {2, 1}, {0, 1, 0}, {0, 0x80, 0}} {
		_, err := unsealMark(key, seal(key, 9, func(b []byte) []byte { return append(b, body...) }))
		require.ErrorIs(t, err, syscall.EIO, "%x", body)
	}
}
