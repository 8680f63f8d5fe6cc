package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Space says from which ranges a new object takes its handle.
type Space int

// The spaces.
const (
	MetaSpace Space = iota // metafiles, directories, dirdata, symlinks
	DataSpace              // datafiles
)

// typesMax is the number of types of objects; a type is one bit.
const typesMax = 6

// state has counters that are updated with each change, so that nothing has to walk over all objects. It is stored in one record,
// which a transaction of the database writes once.
type state struct {
	objects [typesMax]int64
	entries int64
	ranges  []handleRange  // of each space, from the highest to the lowest
	pools   map[string]int // handles in each; not stored, but counted by Open. The map is replaced, never changed.
}

// handleRange is a range of handles for new objects, see takeFrom.
type handleRange struct {
	proto.Extent
	space Space
	next  proto.Handle // First <= next <= Last: the next handle to try, or any handle of the next slot
	used  uint64       // handles in use
}

// size returns the number of handles. No range has handle 0, so it is less than 2^64.
func (r *handleRange) size() uint64 { return uint64(r.Last-r.First) + 1 }

func (r *handleRange) has(h proto.Handle) bool { return r.First <= h && h <= r.Last }

func (s state) clone() state {
	s.ranges = slices.Clone(s.ranges)
	return s
}

var stateKey = []byte("state")

func (s *state) record() []byte {
	return seal(stateKey, 64+32*len(s.ranges), func(b []byte) []byte {
		for _, n := range s.objects {
			b = binary.AppendVarint(b, n)
		}
		b = binary.AppendVarint(b, s.entries)
		b = binary.AppendUvarint(b, uint64(len(s.ranges)))
		for _, r := range s.ranges {
			b = append(b, byte(r.space))
			for _, v := range []uint64{uint64(r.First), uint64(r.Last), uint64(r.next), r.used} {
				b = binary.LittleEndian.AppendUint64(b, v)
			}
		}
		return b
	})
}

func parseState(record []byte) (s state, err error) {
	body, err := unseal(stateKey, record)
	if err != nil {
		return state{}, err
	}
	r := reader{b: body}
	for i := range s.objects {
		s.objects[i] = r.varint(-1<<62, 1<<62)
	}
	s.entries = r.varint(-1<<62, 1<<62)
	for range r.count(33) {
		space := Space(r.uvarint(uint64(DataSpace)))
		v := handleRange{space: space, Extent: proto.Extent{First: proto.Handle(r.uint64()), Last: proto.Handle(r.uint64())}}
		v.next, v.used = proto.Handle(r.uint64()), r.uint64()
		if !r.bad && (v.First == 0 || v.First > v.Last || !v.has(v.next)) {
			r.fail()
		}
		s.ranges = append(s.ranges, v)
	}
	if r.bad || len(r.b) > 0 {
		return state{}, damaged("state with a malformed record")
	}
	return s, nil
}

// makeRanges returns the ranges of the options, with the state of those that existed before. The handles in use of a new range
// are counted.
func makeRanges(opts *Options, old []handleRange, count func(proto.Extent) uint64) ([]handleRange, error) {
	if len(opts.Meta)+len(opts.Data) == 0 {
		return old, nil
	}
	var ranges []handleRange
	for space, extents := range [][]proto.Extent{MetaSpace: opts.Meta, DataSpace: opts.Data} {
		for _, e := range extents {
			e.First = max(e.First, 1)
			if e.First > e.Last {
				return nil, fmt.Errorf("store: range of handles %d-%d: %w", e.First, e.Last, syscall.EINVAL)
			}
			r := handleRange{Extent: e, space: Space(space), next: e.Last}
			i := slices.IndexFunc(old, func(o handleRange) bool { return o.Extent == e && o.space == r.space })
			if i >= 0 {
				r = old[i]
			} else {
				r.used = count(e)
			}
			ranges = append(ranges, r)
		}
	}
	slices.SortStableFunc(ranges, func(a, b handleRange) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(b.First, a.First))
	})
	return ranges, nil
}

func typeIndex(typ proto.ObjType) int { return bits.TrailingZeros32(uint32(typ)) }

// count records that an object was added or removed.
func (t *Tx) count(h proto.Handle, typ proto.ObjType, delta int64) {
	add := func(delta int64) {
		t.w.state.objects[typeIndex(typ)] += delta
		for i := range t.w.state.ranges {
			if r := &t.w.state.ranges[i]; r.has(h) {
				r.used += uint64(delta)
			}
		}
	}
	add(delta)
	t.w.undo = append(t.w.undo, func() { add(-delta) })
}

// countPool records a change of the number of handles in a pool.
func (t *Tx) countPool(pool string, delta int) {
	was := t.w.state.pools
	t.w.undo = append(t.w.undo, func() { t.w.state.pools = was })
	now := make(map[string]int, len(was)+1)
	maps.Copy(now, was)
	now[pool] += delta
	t.w.state.pools = now
}

// DirState is what a dirdata object records about its entries.
type DirState struct {
	Count   int64  // number of entries
	Version uint64 // grows with every change: seconds in the upper 32 bits, microseconds in the lower
}

// dirVersion returns the version for a change at a time. before is the previous version.
func dirVersion(now time.Time, before uint64) uint64 {
	v := uint64(now.Unix())<<32 | uint64(now.Nanosecond()/1000)
	return max(v, before+1)
}

func sealDir(key []byte, d DirState) []byte {
	return seal(key, 16, func(b []byte) []byte {
		return binary.LittleEndian.AppendUint64(binary.AppendVarint(b, d.Count), d.Version)
	})
}

func unsealDir(key, record []byte) (d DirState, err error) {
	body, err := unseal(key, record)
	if err != nil {
		return d, err
	}
	r := reader{b: body}
	d.Count, d.Version = r.varint(0, 1<<62), r.uint64()
	if r.bad || len(r.b) > 0 {
		return DirState{}, damaged("directory with a malformed record")
	}
	return d, nil
}

// Dir returns the number of entries of a dirdata object, and their version. ENOENT, ENOTDIR.
func (t *Tx) Dir(dirdata proto.Handle) (DirState, error) {
	if err := t.reaches("dir", dirdata); err != nil {
		return DirState{}, err
	}
	if t.w != nil {
		if d := t.w.dirs[dirdata]; d != nil && !d.gone {
			return d.DirState, nil
		} else if d != nil {
			return DirState{}, fault("dir", dirdata, syscall.ENOENT)
		}
	}
	key := handleKey(dirdata)
	if record := t.table(tDirs).Get(key); record != nil {
		d, err := unsealDir(key, record)
		if err != nil {
			return d, fault("dir", dirdata, err)
		}
		return d, nil
	}
	switch typ, err := t.Type(dirdata); {
	case err != nil:
		return DirState{}, err
	case typ == proto.TypeNone:
		return DirState{}, fault("dir", dirdata, syscall.ENOENT)
	case typ != proto.TypeDirdata:
		return DirState{}, fault("dir", dirdata, syscall.ENOTDIR)
	}
	return DirState{}, fault("dir", dirdata, damaged("its count is missing"))
}

// dirCounter returns the counter of a dirdata object for a change.
func (t *Tx) dirCounter(h proto.Handle) (*dirCounter, error) {
	if d := t.w.dirs[h]; d != nil && !d.gone {
		return d, nil
	}
	state, err := t.Dir(h)
	if err != nil {
		return nil, err
	}
	d := &dirCounter{DirState: state}
	t.w.dirs[h] = d
	return d, nil
}

// alterDir changes a counter so that the change can be undone.
func (t *Tx) alterDir(d *dirCounter, to dirCounter) {
	was := *d
	t.w.undo = append(t.w.undo, func() { *d = was })
	*d = to
	d.dirty = true
}

// change records that entries of a directory were added, removed or changed.
func (t *Tx) change(d *dirCounter, entries int64) {
	to := *d
	to.Count = max(to.Count+entries, 0)
	to.Version = dirVersion(t.w.now, to.Version)
	t.alterDir(d, to)
	t.w.state.entries += entries
	t.w.undo = append(t.w.undo, func() { t.w.state.entries -= entries })
}

func (t *Tx) newDir(h proto.Handle) {
	d := t.w.dirs[h]
	if d == nil {
		d = &dirCounter{gone: true}
		t.w.dirs[h] = d
	}
	t.alterDir(d, dirCounter{DirState: DirState{Version: dirVersion(t.w.now, d.Version)}})
}

// removeDir removes the counter of a dirdata object. ENOTEMPTY: there are entries, even if the counter says that there are none.
func (t *Tx) removeDir(h proto.Handle) error {
	prefix := handleKey(h)
	if key, _ := t.table(tEntries).Cursor().Seek(prefix); bytes.HasPrefix(key, prefix) {
		return fault("delete", h, syscall.ENOTEMPTY)
	}
	d, err := t.dirCounter(h)
	if err != nil {
		return err
	}
	to := *d
	to.gone = true
	t.alterDir(d, to)
	return nil
}

// flush writes the changed counters.
func (t *Tx) flush() error {
	for h, d := range t.w.dirs {
		if !d.dirty {
			continue
		}
		key := handleKey(h)
		var err error
		if d.gone {
			err = t.table(tDirs).Delete(key)
		} else {
			err = t.table(tDirs).Put(key, sealDir(key, d.DirState))
		}
		if err != nil {
			return err
		}
	}
	return t.table(tStore).Put(stateKey, t.w.state.record())
}
