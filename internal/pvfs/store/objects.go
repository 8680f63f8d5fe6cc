package store

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Object is one object. All of Attr is stored except values that are derived: Capability, StuffedSize, DatafileSize and
// DirentCount. Get fills in DirentCount of a dirdata object. Mask is stored as given, without AttrCapability.
type Object struct {
	proto.Attr
	Handle proto.Handle // set by reads; ignored by writes
	Parent proto.Handle // metafile of a datafile, directory of a dirdata object, of others the directory where they count as made; 0 if not known
}

// Get returns an object. ENOENT: there is none.
func (t *Tx) Get(h proto.Handle) (Object, error) {
	if err := t.reaches("get", h); err != nil {
		return Object{}, err
	}
	key := handleKey(h)
	record := t.table(tObjects).Get(key)
	if record == nil {
		return Object{}, fault("get", h, syscall.ENOENT)
	}
	o, err := t.read(h, key, record)
	t.extend(o.Datafiles...)
	t.extend(o.DistDir.Dirdata...)
	return o, err
}

func (t *Tx) read(h proto.Handle, key, record []byte) (Object, error) {
	body, err := unseal(key, record)
	if err != nil {
		return Object{}, fault("get", h, err)
	}
	o, err := parseObject(body)
	if err != nil {
		return Object{}, fault("get", h, err)
	}
	o.Handle = h
	if o.Type == proto.TypeDatafile && o.Parent == 0 {
		o.Parent = t.s.files.newOwner(h)
	}
	if o.Type == proto.TypeDirdata {
		d, err := t.Dir(h)
		if err != nil {
			return Object{}, err
		}
		o.DirentCount = d.Count
	}
	return o, nil
}

// Type returns an object's type, or TypeNone if it does not exist. It is faster than Get.
func (t *Tx) Type(h proto.Handle) (proto.ObjType, error) {
	if err := t.reaches("get", h); err != nil {
		return 0, err
	}
	key := handleKey(h)
	record := t.table(tObjects).Get(key)
	if record == nil {
		return proto.TypeNone, nil
	}
	body, err := unseal(key, record)
	if err != nil {
		return 0, fault("get", h, err)
	}
	r := reader{b: body}
	r.uvarint(partsAll)
	typ := proto.ObjType(r.uvarint(math.MaxInt32))
	if r.bad {
		return 0, fault("get", h, damaged("object with a malformed record"))
	}
	return typ, nil
}

// Create makes an object with a new handle of the space. ENOSPC: all handles are in use.
func (t *Tx) Create(space Space, o Object) (proto.Handle, error) {
	if !validType(o.Type) {
		return 0, fault("create", 0, syscall.EINVAL)
	}
	h, err := t.NewHandle(space)
	if err != nil {
		return 0, err
	}
	return h, t.insert(h, o)
}

// NewHandle takes a new handle of the space, for an object that the transaction will Insert. ENOSPC: all handles are in use.
func (t *Tx) NewHandle(space Space) (proto.Handle, error) {
	if err := t.mayGrow(); err != nil {
		return 0, err
	}
	return t.allocate(space)
}

// Insert makes an object with a known handle, such as the root's. EEXIST: the object exists. EBUSY: a datafile with that handle
// is just being removed.
func (t *Tx) Insert(h proto.Handle, o Object) error {
	if err := t.mayGrow(); err != nil {
		return err
	}
	if h == 0 || !validType(o.Type) {
		return fault("insert", h, syscall.EINVAL)
	}
	key := handleKey(h)
	if t.table(tObjects).Get(key) != nil {
		return fault("insert", h, syscall.EEXIST)
	}
	if t.table(tDead).Get(key) != nil {
		return fault("insert", h, syscall.EBUSY)
	}
	return t.insert(h, o)
}

func validType(typ proto.ObjType) bool {
	switch typ {
	case proto.TypeMetafile, proto.TypeDatafile, proto.TypeDirectory, proto.TypeSymlink, proto.TypeDirdata, proto.TypeInternal:
		return true
	}
	return false
}

func (t *Tx) insert(h proto.Handle, o Object) error {
	t.extend(h)
	if err := t.write(h, &o); err != nil {
		return err
	}
	t.count(h, o.Type, 1)
	if o.Type == proto.TypeDirdata {
		t.newDir(h)
	}
	return nil
}

func (t *Tx) write(h proto.Handle, o *Object) error {
	size := 64 + 8*(len(o.Datafiles)+len(o.Mirrors)+len(o.DistDir.Dirdata)) + len(o.Target)
	key := handleKey(h)
	record := seal(key, size, func(b []byte) []byte { return appendObject(b, o) })
	if len(record) > recordMax {
		return fault("write", h, syscall.EFBIG)
	}
	return t.put(tObjects, key, record)
}

// Put replaces an object. ENOENT: it does not exist. EINVAL: its type would change from or to datafile or dirdata.
func (t *Tx) Put(h proto.Handle, o Object) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	was, err := t.Type(h)
	if err != nil {
		return err
	}
	if was == proto.TypeNone {
		return fault("put", h, syscall.ENOENT)
	}
	if was != o.Type {
		bound := func(typ proto.ObjType) bool { return typ == proto.TypeDatafile || typ == proto.TypeDirdata }
		if bound(was) || bound(o.Type) || !validType(o.Type) {
			return fault("put", h, syscall.EINVAL)
		}
		t.count(h, was, -1)
		t.count(h, o.Type, 1)
	}
	return t.write(h, &o)
}

// Delete removes an object with its extended attributes. The bytes of a datafile are removed after the commit. ENOENT: it does
// not exist. ENOTEMPTY: a dirdata object has entries.
func (t *Tx) Delete(h proto.Handle) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	typ, err := t.Type(h)
	if err != nil {
		return err
	}
	key := handleKey(h)
	switch typ {
	case proto.TypeNone:
		return fault("delete", h, syscall.ENOENT)
	case proto.TypeDirdata:
		if err := t.removeDir(h); err != nil {
			return err
		}
	case proto.TypeDatafile:
		if err := t.put(tDead, key, []byte{}); err != nil {
			return err
		}
		if err := t.remove(tMarks, key); err != nil {
			return err
		}
		t.w.dead = append(t.w.dead, h)
	}
	if err := t.removeAll(tXattrs, h); err != nil {
		return err
	}
	t.count(h, typ, -1)
	return t.remove(tObjects, key)
}

// removeAll removes all records of a table below a handle.
func (t *Tx) removeAll(table int, h proto.Handle) error {
	prefix := handleKey(h)
	for {
		key, _ := t.table(table).Cursor().Seek(prefix)
		if !bytes.HasPrefix(key, prefix) {
			return nil
		}
		if err := t.remove(table, bytes.Clone(key)); err != nil {
			return err
		}
	}
}

// Handles returns up to limit handles of objects in ascending order, starting at from, and the next handle (0: no more).
func (t *Tx) Handles(from proto.Handle, limit int) ([]proto.Handle, proto.Handle, error) {
	var handles []proto.Handle
	c := t.table(tObjects).Cursor()
	// Keys are complements of handles, so ascending handles are at descending keys.
	key, _ := c.Seek(handleKey(from))
	switch {
	case key == nil:
		key, _ = c.Last()
	case len(key) == 8 && keyHandle(key) < from:
		key, _ = c.Prev()
	}
	for ; key != nil; key, _ = c.Prev() {
		if len(key) != 8 {
			return nil, 0, damaged("object with a key of %d bytes", len(key))
		}
		if len(handles) >= limit {
			return handles, keyHandle(key), nil
		}
		handles = append(handles, keyHandle(key))
	}
	return handles, 0, nil
}

// Objects walks all objects, highest handles first. For a record that cannot be read it yields an error, and goes on with the
// next.
func (t *Tx) Objects() iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		c := t.table(tObjects).Cursor()
		for key, record := c.First(); key != nil; key, record = c.Next() {
			if len(key) != 8 {
				if !yield(Object{}, damaged("object with a key of %d bytes", len(key))) {
					return
				}
				continue
			}
			h := keyHandle(key)
			o, err := t.read(h, key, record)
			o.Handle = h
			if !yield(o, err) {
				return
			}
		}
	}
}

// Record returns a record of the server, such as the root's handle, a signing key or the state of a division; nil if there is
// none.
func (t *Tx) Record(key string) ([]byte, error) {
	record := t.table(tRecords).Get([]byte(key))
	if record == nil {
		return nil, nil
	}
	body, err := unseal([]byte(key), record)
	return bytes.Clone(body), err
}

// SetRecord sets such a record; a nil value removes it. EINVAL: the key is empty or longer than 255 bytes, or the value larger
// than 1 MiB.
func (t *Tx) SetRecord(key string, value []byte) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	if key == "" || len(key) > proto.MaxName || len(value) > recordMax-recordFrame {
		return faultName("record", 0, key, syscall.EINVAL)
	}
	if value == nil {
		return t.remove(tRecords, []byte(key))
	}
	return t.put(tRecords, []byte(key), seal([]byte(key), len(value), func(b []byte) []byte { return append(b, value...) }))
}

// Records walks the records whose keys begin with a prefix, by key.
func (t *Tx) Records(prefix string) iter.Seq2[string, []byte] {
	return t.records(prefix, func(key []byte) bool { return bytes.HasPrefix(key, []byte(prefix)) })
}

// RecordsBetween walks the records with keys from first to last, both included, by key.
func (t *Tx) RecordsBetween(first, last string) iter.Seq2[string, []byte] {
	return t.records(first, func(key []byte) bool { return string(key) <= last })
}

func (t *Tx) records(first string, in func(key []byte) bool) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		c := t.table(tRecords).Cursor()
		for key, record := c.Seek([]byte(first)); key != nil && in(key); key, record = c.Next() {
			if body, err := unseal(key, record); err == nil && !yield(string(key), bytes.Clone(body)) {
				return
			}
		}
	}
}

// poolKey is the key of a pool's handle. It is not complemented, because the order in a pool does not matter.
func poolKey(pool string, h proto.Handle) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(pool), 0), uint64(h))
}

// PoolPut adds handles that were made in advance, here or on another server, to a pool. The server chooses the pool's name, for
// example an alias and a type. It has no zero byte.
func (t *Tx) PoolPut(pool string, handles ...proto.Handle) error {
	if err := t.mayGrow(); err != nil {
		return err
	}
	if !validName(pool) {
		return faultName("pool", 0, pool, syscall.EINVAL)
	}
	added := 0
	for _, h := range handles {
		key := poolKey(pool, h)
		if t.table(tPools).Get(key) != nil {
			continue
		}
		if err := t.put(tPools, key, []byte{}); err != nil {
			return err
		}
		added++
	}
	t.countPool(pool, added)
	return nil
}

// PoolTake takes up to n handles from a pool.
func (t *Tx) PoolTake(pool string, n int) ([]proto.Handle, error) {
	if err := t.mayWrite(); err != nil {
		return nil, err
	}
	var handles []proto.Handle
	t.poolWalk(pool, func(h proto.Handle) bool {
		if len(handles) < n {
			handles = append(handles, h)
		}
		return len(handles) < n
	})
	for _, h := range handles {
		if err := t.remove(tPools, poolKey(pool, h)); err != nil {
			return nil, err
		}
	}
	t.countPool(pool, -len(handles))
	return handles, nil
}

// PoolLen returns the number of handles in a pool, in constant time.
func (t *Tx) PoolLen(pool string) (int, error) {
	if t.w == nil {
		return t.s.state.Load().pools[pool], nil
	}
	return t.w.state.pools[pool], nil
}

func (t *Tx) poolWalk(pool string, f func(proto.Handle) bool) {
	prefix := append([]byte(pool), 0)
	c := t.table(tPools).Cursor()
	for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix) && len(key) == len(prefix)+8; key, _ = c.Next() {
		if !f(proto.Handle(binary.BigEndian.Uint64(key[len(prefix):]))) {
			return
		}
	}
}

// Pools walks all handles of all pools: the pool's name, the handle.
func (t *Tx) Pools() iter.Seq2[string, proto.Handle] {
	return func(yield func(string, proto.Handle) bool) {
		c := t.table(tPools).Cursor()
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			if i := len(key) - 9; i > 0 && !yield(string(key[:i]), proto.Handle(binary.BigEndian.Uint64(key[i+1:]))) {
				return
			}
		}
	}
}
