package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A model is a store made of plain maps.
type model struct {
	objects map[proto.Handle]Object
	entries map[proto.Handle]map[string]proto.Handle
	xattrs  map[proto.Handle]map[string][]byte
	records map[string][]byte
	data    map[proto.Handle][]byte
	version map[proto.Handle]uint64 // of dirdata objects, as last seen
}

func newModel() *model {
	return &model{
		objects: map[proto.Handle]Object{}, entries: map[proto.Handle]map[string]proto.Handle{},
		xattrs: map[proto.Handle]map[string][]byte{}, records: map[string][]byte{},
		data: map[proto.Handle][]byte{}, version: map[proto.Handle]uint64{},
	}
}

func (m *model) clone() *model {
	c := &model{
		objects: maps.Clone(m.objects), entries: map[proto.Handle]map[string]proto.Handle{},
		xattrs: map[proto.Handle]map[string][]byte{}, records: maps.Clone(m.records), data: m.data, version: m.version,
	}
	for h, e := range m.entries {
		c.entries[h] = maps.Clone(e)
	}
	for h, x := range m.xattrs {
		c.xattrs[h] = maps.Clone(x)
	}
	return c
}

// A world does the same operations on a store and its model.
type world struct {
	t    *testing.T
	rng  *rand.Rand
	dir  string
	opts Options
	s    *Store
	m    *model
}

// errNo ends an update that must be undone.
var errNo = errors.New("no")

func (w *world) pick(typ proto.ObjType) proto.Handle {
	var of []proto.Handle
	for h, o := range w.m.objects {
		if typ == 0 || o.Type == typ {
			of = append(of, h)
		}
	}
	if len(of) == 0 || w.rng.IntN(20) == 0 {
		return proto.Handle(1 + w.rng.IntN(3)) // of no object
	}
	slices.Sort(of)
	return of[w.rng.IntN(len(of))]
}

func (w *world) name() string { return fmt.Sprintf("name%d", w.rng.IntN(40)) }

func (w *world) bytes(n int) []byte {
	b := make([]byte, w.rng.IntN(n))
	for i := range b {
		b[i] = byte(w.rng.Uint32())
	}
	return b
}

var types = []proto.ObjType{proto.TypeMetafile, proto.TypeDatafile, proto.TypeDirectory, proto.TypeSymlink, proto.TypeDirdata}

// step does one operation inside an update, in m and in the store, and requires the same result.
func (w *world) step(tx *Tx, m *model) {
	r := w.rng
	want := error(nil)
	var err error
	switch r.IntN(11) {
	case 0, 1:
		o := randomObject(r)
		space := MetaSpace
		if o.Type == proto.TypeDatafile {
			space = DataSpace
		}
		var h proto.Handle
		if r.IntN(4) == 0 {
			h = proto.Handle(1000 + r.IntN(50))
			if _, ok := m.objects[h]; ok {
				want = fs.ErrExist
			}
			if err = tx.Insert(h, o); errors.Is(err, syscall.EBUSY) {
				return // a datafile with that handle was deleted in the same update
			}
		} else {
			h, err = tx.Create(space, o)
			require.NotContains(w.t, m.objects, h)
		}
		if want == nil {
			m.objects[h] = o
			if o.Type == proto.TypeDirdata {
				m.entries[h] = map[string]proto.Handle{}
			}
		}
	case 2:
		h, o := w.pick(0), randomObject(r)
		was, ok := m.objects[h]
		o.Type = was.Type
		if !ok {
			want = fs.ErrNotExist
		} else {
			m.objects[h] = o
		}
		err = tx.Put(h, o)
	case 3:
		h := w.pick(0)
		_, ok := m.objects[h]
		switch {
		case !ok:
			want = fs.ErrNotExist
		case len(m.entries[h]) > 0:
			want = syscall.ENOTEMPTY
		default:
			delete(m.objects, h)
			delete(m.entries, h)
			delete(m.xattrs, h)
		}
		err = tx.Delete(h)
	case 4, 5:
		d, name, h := w.pick(proto.TypeDirdata), w.name(), proto.Handle(r.Uint64())
		if m.entries[d] == nil {
			want = fs.ErrNotExist
		} else if _, ok := m.entries[d][name]; ok {
			want = fs.ErrExist
		} else {
			m.entries[d][name] = h
		}
		err = tx.Link(d, name, h)
	case 6, 7:
		d, name, h := w.pick(proto.TypeDirdata), w.name(), proto.Handle(r.Uint64())
		was, ok := m.entries[d][name]
		var got proto.Handle
		if r.IntN(2) == 0 {
			got, err = tx.Unlink(d, name)
			delete(m.entries[d], name)
		} else {
			got, err = tx.Relink(d, name, h)
			if ok {
				m.entries[d][name] = h
			}
		}
		if !ok {
			want = fs.ErrNotExist
		}
		require.Equal(w.t, was, got)
	case 8:
		h, name, value, mode := w.pick(0), w.name(), w.bytes(100), XattrMode(r.IntN(3))
		_, there := m.xattrs[h][name]
		if _, ok := m.objects[h]; !ok {
			want = fs.ErrNotExist
		} else if there && mode == XattrCreate {
			want = fs.ErrExist
		} else if !there && mode == XattrReplace {
			want = syscall.ENODATA
		} else {
			if m.xattrs[h] == nil {
				m.xattrs[h] = map[string][]byte{}
			}
			m.xattrs[h][name] = value
		}
		err = tx.SetXattr(h, name, value, mode)
	case 9:
		h, name := w.pick(0), w.name()
		if _, ok := m.xattrs[h][name]; !ok {
			want = syscall.ENODATA
		}
		delete(m.xattrs[h], name)
		err = tx.DelXattr(h, name)
	case 10:
		key, value := w.name(), w.bytes(30)
		if r.IntN(3) == 0 {
			value = nil
			delete(m.records, key)
		} else {
			m.records[key] = value
		}
		err = tx.SetRecord(key, value)
	}
	if want == nil {
		require.NoError(w.t, err)
	} else {
		require.ErrorIs(w.t, err, want)
	}
}

// update does a few steps in one transaction, which sometimes fails.
func (w *world) update() {
	before := w.m
	after := before.clone()
	fail := w.rng.IntN(4) == 0
	steps := 1 + w.rng.IntN(4)
	err := w.s.Update(func(tx *Tx) error {
		w.m = after
		for range steps {
			w.step(tx, after)
		}
		if w.rng.IntN(3) == 0 {
			w.compare(tx, after) // a transaction sees its own changes
		}
		if fail {
			return errNo
		}
		return nil
	})
	if fail {
		require.Equal(w.t, errNo, err)
		w.m = before
		return
	}
	require.NoError(w.t, err)
	for h := range w.m.data {
		if _, ok := w.m.objects[h]; !ok {
			delete(w.m.data, h)
		}
	}
}

// access reads, writes or truncates bytes.
func (w *world) access() {
	h := w.pick(proto.TypeDatafile)
	if w.m.objects[h].Type != proto.TypeDatafile {
		_, err := w.s.WriteAt(h, []byte("x"), 0)
		require.ErrorIs(w.t, err, fs.ErrNotExist)
		return
	}
	data, off := w.m.data[h], w.rng.IntN(200)
	grow := func(size int) {
		if size > len(data) {
			data = append(data, make([]byte, size-len(data))...)
		}
	}
	switch w.rng.IntN(4) {
	case 0:
		p := w.bytes(100)
		n, err := w.s.WriteAt(h, p, int64(off))
		require.NoError(w.t, err)
		require.Equal(w.t, len(p), n)
		if n > 0 {
			grow(off + n)
			data = slices.Clone(data)
			copy(data[off:], p)
		}
	case 1:
		require.NoError(w.t, w.s.Truncate(h, int64(off)))
		grow(off)
		data = data[:off:off]
	case 2:
		require.NoError(w.t, w.s.SyncDatafile(h))
	}
	w.m.data[h] = data
	buf := make([]byte, w.rng.IntN(300))
	n, err := w.s.ReadAt(h, buf, int64(off))
	require.NoError(w.t, err)
	require.Equal(w.t, len(data[min(off, len(data)):min(off+len(buf), len(data))]), n)
	require.True(w.t, bytes.Equal(data[min(off, len(data)):][:n], buf[:n]))
	size, err := w.s.Size(h)
	require.NoError(w.t, err)
	require.EqualValues(w.t, len(data), size)
}

// compare compares everything through a transaction.
func (w *world) compare(tx *Tx, m *model) {
	t := w.t
	n := 0
	for o, err := range tx.Objects() {
		require.NoError(t, err)
		n++
		want, ok := m.objects[o.Handle]
		require.True(t, ok)
		want = kept(want)
		want.Handle, want.DirentCount = o.Handle, int64(len(m.entries[o.Handle]))
		require.Equal(t, want, o)
		typ, err := tx.Type(o.Handle)
		require.NoError(t, err)
		require.Equal(t, want.Type, typ)
		w.compareNames(tx, m, o)
	}
	require.Equal(t, len(m.objects), n)
	var handles []proto.Handle
	for from := proto.Handle(0); ; {
		part, next, err := tx.Handles(from, 1+w.rng.IntN(5))
		require.NoError(t, err)
		handles = append(handles, part...)
		if from = next; from == 0 {
			break
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(m.objects)), handles)
	records := map[string][]byte{}
	for key, value := range tx.Records("") {
		records[key] = value
	}
	require.Equal(t, m.records, records)
}

func (w *world) compareNames(tx *Tx, m *model, o Object) {
	t := w.t
	var names []string
	for token := uint64(0); token != proto.TokenEnd; {
		part, next, err := tx.Xattrs(o.Handle, token, 1+w.rng.IntN(5))
		require.NoError(t, err)
		names, token = append(names, part...), next
	}
	slices.Sort(names)
	require.Equal(t, slices.Sorted(maps.Keys(m.xattrs[o.Handle])), names)
	for name, want := range m.xattrs[o.Handle] {
		value, err := tx.Xattr(o.Handle, name)
		require.NoError(t, err)
		require.Equal(t, want, value)
	}
	if o.Type != proto.TypeDirdata {
		return
	}
	entries := map[string]proto.Handle{}
	for token := uint64(proto.TokenStart); token != proto.TokenEnd; {
		part, next, err := tx.Entries(o.Handle, token, 1+w.rng.IntN(10))
		require.NoError(t, err)
		for _, e := range part {
			require.NotContains(t, entries, e.Name)
			entries[e.Name] = e.Handle
			h, err := tx.Lookup(o.Handle, e.Name)
			require.NoError(t, err)
			require.Equal(t, e.Handle, h)
		}
		token = next
	}
	require.Equal(t, m.entries[o.Handle], entries)
	d, err := tx.Dir(o.Handle)
	require.NoError(t, err)
	require.EqualValues(t, len(entries), d.Count)
}

// reopen may close and open the store, and compares everything.
func (w *world) reopen() {
	if w.rng.IntN(2) == 0 {
		require.NoError(w.t, w.s.Close())
		s, err := Open(w.dir, w.opts)
		require.NoError(w.t, err)
		w.s = s
	}
	require.NoError(w.t, w.s.View(func(tx *Tx) error {
		w.compare(tx, w.m)
		for h := range w.m.entries {
			d, err := tx.Dir(h)
			require.NoError(w.t, err)
			require.GreaterOrEqual(w.t, d.Version, w.m.version[h])
			w.m.version[h] = d.Version
		}
		return nil
	}))
	st := w.s.Stats()
	count := map[proto.ObjType]int64{proto.TypeInternal: 0}
	for _, typ := range types {
		count[typ] = 0
	}
	entries := 0
	for h, o := range w.m.objects {
		count[o.Type]++
		entries += len(w.m.entries[h])
	}
	require.Equal(w.t, count, st.Objects)
	require.EqualValues(w.t, entries, st.Entries)
	requireClean(w.t, w.s)
}

func randomObject(r *rand.Rand) Object {
	var o Object
	o.Type = types[r.IntN(len(types))]
	o.Mask = proto.AttrMask(r.Uint32())
	maybe := func(f func()) {
		if r.IntN(2) == 0 {
			f()
		}
	}
	handles := func() (hs []proto.Handle) {
		for range r.IntN(4) {
			hs = append(hs, proto.Handle(r.Uint64()))
		}
		return hs
	}
	maybe(func() { o.Owner, o.Group, o.Perms = r.Uint32(), r.Uint32N(9), 0o644 })
	maybe(func() { o.ATime, o.MTime, o.CTime = r.Int64(), -r.Int64(), 1 })
	maybe(func() { o.Dist = proto.Dist{Name: proto.DistStripe, StripSize: r.Int64()} })
	maybe(func() { o.Dist = proto.Dist{Name: proto.DistTwoD, Groups: r.Uint32(), Factor: 3, Strips: "0:64K"} })
	maybe(func() { o.Datafiles, o.Flags = handles(), r.Uint64() })
	maybe(func() { o.Copies, o.Mirrors = r.Uint32N(3), handles() })
	maybe(func() { o.Target = "../some/where" })
	maybe(func() {
		o.DistDir = proto.DistDir{TreeHeight: r.Int32N(5), SplitSize: -3, ServerNo: 1, BranchLevel: 2, Bitmap: []uint32{r.Uint32(), 7}, Dirdata: handles()}
	})
	maybe(func() {
		o.Hint = proto.DirHint{DistName: "d", DistParams: "p:1", Datafiles: 4, Layout: proto.LayoutList, ServersBytes: 90, Servers: []string{"", "tcp://a:1"}}
	})
	maybe(func() { o.Parent = proto.Handle(r.Uint64()) })
	maybe(func() { o.StuffedSize, o.DatafileSize, o.DirentCount, o.Capability.Issuer = 1, 2, 3, "S:x" }) // not stored
	return o
}

func TestModel(t *testing.T) {
	t.Parallel()
	sim.RunAtMost(t, 10, runModel)
}

func runModel(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	w := &world{t: t, rng: rng, dir: memory.Dir(t), m: newModel()}
	w.opts = with(func(o *Options) {
		o.OpenFiles = 1 + rng.IntN(4)
		o.Clock = func() time.Time { return time.Unix(int64(rng.IntN(1000)), 5000) } // it also goes backwards
	})
	var err error
	w.s, err = Open(w.dir, w.opts)
	require.NoError(t, err)
	defer func() { _ = w.s.Close() }()
	for range 150 {
		switch k := rng.IntN(20); {
		case k == 0:
			w.reopen()
		case k < 6:
			w.access()
		default:
			w.update()
		}
	}
	w.reopen()
}
