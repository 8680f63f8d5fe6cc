package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"strings"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A slot is the position of a name below its handle. It is also the token of READDIR that points just behind the name. It has 48
// bits: the top bit is set (so it differs from the protocol's special tokens), 44 bits are the name's hash, and 3 distinguish
// names with the same hash. A name keeps its slot as long as it exists.
type slot uint64

const (
	slotTop  slot = 1 << 47
	sameHash      = 8 // names with the same hash, at most
	slotEnd  slot = 1 << 48
)

// slotOf returns the first slot for a name. The store's secret salt prevents the choice of names with the same hash.
func (s *Store) slotOf(name string) slot {
	var buf [saltBytes + 256]byte
	sum := sha256.Sum256(append(append(buf[:0], s.salt...), name...))
	return slotTop | slot(binary.LittleEndian.Uint64(sum[:])&s.slotMask)<<3
}

func slotKey(h proto.Handle, at slot) []byte {
	var last [8]byte
	binary.BigEndian.PutUint64(last[:], uint64(at))
	return append(append(make([]byte, 0, 14), handleKey(h)...), last[2:]...)
}

func keySlot(key []byte) slot {
	var last [8]byte
	copy(last[2:], key[8:])
	return slot(binary.BigEndian.Uint64(last[:]))
}

// sealNamed makes the record of a name and its value.
func sealNamed(key []byte, name string, value []byte) []byte {
	return seal(key, 2+len(name)+len(value), func(b []byte) []byte { return append(appendString(b, name), value...) })
}

// unsealNamed parses it. Both results are views.
func unsealNamed(key, record []byte) (name, value []byte, err error) {
	body, err := unseal(key, record)
	if err != nil {
		return nil, nil, err
	}
	r := reader{b: body}
	n := r.count(1)
	if r.bad || n > len(r.b) || len(key) != 14 {
		return nil, nil, damaged("name with a malformed record")
	}
	return r.b[:n], r.b[n:], nil
}

// find looks for a name below a handle. It returns the key and the value (a view). If there is no such name, the value is nil and
// the key is the slot that the name would take; the key is nil too if no slot is free.
func (t *Tx) find(table int, h proto.Handle, name string) (key, value []byte, err error) {
	if err := t.reaches("find", h); err != nil {
		return nil, nil, err
	}
	first := t.s.slotOf(name)
	c := t.table(table).Cursor()
	free := first
	start, last := slotKey(h, first), slotKey(h, first+sameHash-1)
	for key, record := c.Seek(start); key != nil && bytes.Compare(key, last) <= 0; key, record = c.Next() {
		n, value, err := unsealNamed(key, record)
		if err != nil {
			return nil, nil, err
		}
		if string(n) == name {
			return bytes.Clone(key), value[:len(value):len(value)], nil
		}
		if keySlot(key) == free {
			free++
		}
	}
	switch {
	case free == first:
		return start, nil, nil
	case free < first+sameHash:
		return slotKey(h, free), nil, nil
	}
	return nil, nil, nil
}

// scan walks the names below a handle that come after a token. f gets views.
func (t *Tx) scan(table int, h proto.Handle, token uint64, f func(at slot, name, value []byte, err error) bool) {
	from := slotTop
	if token&uint64(slotTop) != 0 {
		from = slot(token) + 1
	}
	prefix := handleKey(h)
	c := t.table(table).Cursor()
	for key, record := c.Seek(slotKey(h, from)); bytes.HasPrefix(key, prefix); key, record = c.Next() {
		name, value, err := unsealNamed(key, record)
		if len(key) != 14 {
			err = damaged("name with a key of %d bytes", len(key))
		} else {
			from = keySlot(key)
		}
		if !f(from, name, value, err) {
			return
		}
	}
}

// page collects up to limit names after a token, and returns the next token.
func (t *Tx) page(table int, h proto.Handle, token uint64, limit int, add func(name, value []byte) error) (next uint64, err error) {
	if token == proto.TokenEnd || token == uint64(slotEnd-1) { // nothing comes after the last slot
		return proto.TokenEnd, nil
	}
	if token&uint64(slotTop) == 0 && token != 0 && token != proto.TokenStart || token >= uint64(slotEnd) {
		return 0, syscall.EINVAL
	}
	if err := t.reaches("list", h); err != nil {
		return 0, err
	}
	next = proto.TokenEnd
	n, last := 0, token
	t.scan(table, h, token, func(at slot, name, value []byte, e error) bool {
		if e != nil {
			err = e
			return false
		}
		if n == limit {
			next = last
			return false
		}
		n, last = n+1, uint64(at)
		err = add(name, value)
		return err == nil
	})
	if next == 0 {
		next = proto.TokenStart
	}
	return next, err
}

func validName(name string) bool { return name != "" && strings.IndexByte(name, 0) < 0 }

// checkEntry returns an error if a name cannot be an entry.
func checkEntry(op string, h proto.Handle, name string) error {
	switch {
	case len(name) > proto.MaxName:
		return faultName(op, h, name, syscall.ENAMETOOLONG)
	case !validName(name) || name == "." || name == ".." || strings.IndexByte(name, '/') >= 0:
		return faultName(op, h, name, syscall.EINVAL)
	}
	return nil
}

func handleValue(h proto.Handle) []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(h))
}

func valueHandle(value []byte) (proto.Handle, error) {
	if len(value) != 8 {
		return 0, damaged("entry with a handle of %d bytes", len(value))
	}
	return proto.Handle(binary.LittleEndian.Uint64(value)), nil
}

// Lookup returns the object of a name. ENOENT.
func (t *Tx) Lookup(dirdata proto.Handle, name string) (proto.Handle, error) {
	_, value, err := t.find(tEntries, dirdata, name)
	if err != nil {
		return 0, faultName("lookup", dirdata, name, err)
	}
	if value == nil {
		return 0, faultName("lookup", dirdata, name, syscall.ENOENT)
	}
	h, err := valueHandle(value)
	t.extend(h)
	return h, err
}

// Link adds an entry to a dirdata object. EEXIST; ENOENT or ENOTDIR if it is not a dirdata object; EINVAL, ENAMETOOLONG.
func (t *Tx) Link(dirdata proto.Handle, name string, h proto.Handle) error {
	if err := t.mayGrow(); err != nil {
		return err
	}
	if err := checkEntry("link", dirdata, name); err != nil {
		return err
	}
	if err := t.reaches("link", h); err != nil {
		return err
	}
	d, err := t.dirCounter(dirdata)
	if err != nil {
		return err
	}
	key, value, err := t.find(tEntries, dirdata, name)
	switch {
	case err != nil:
		return faultName("link", dirdata, name, err)
	case value != nil:
		return faultName("link", dirdata, name, syscall.EEXIST)
	case key == nil:
		return faultName("link", dirdata, name, syscall.ENOSPC)
	}
	if err := t.put(tEntries, key, sealNamed(key, name, handleValue(h))); err != nil {
		return err
	}
	t.change(d, 1)
	return nil
}

// Unlink removes an entry and returns its object. ENOENT.
func (t *Tx) Unlink(dirdata proto.Handle, name string) (proto.Handle, error) {
	return t.alter("unlink", dirdata, name, -1, func(key []byte) error { return t.remove(tEntries, key) })
}

// Relink makes an entry refer to another object and returns the previous one. ENOENT.
func (t *Tx) Relink(dirdata proto.Handle, name string, h proto.Handle) (proto.Handle, error) {
	if err := t.reaches("link", h); err != nil {
		return 0, err
	}
	return t.alter("relink", dirdata, name, 0, func(key []byte) error {
		return t.put(tEntries, key, sealNamed(key, name, handleValue(h)))
	})
}

func (t *Tx) alter(op string, dirdata proto.Handle, name string, entries int64, f func(key []byte) error) (proto.Handle, error) {
	if err := t.mayWrite(); err != nil {
		return 0, err
	}
	d, err := t.dirCounter(dirdata)
	if err != nil {
		return 0, err
	}
	key, value, err := t.find(tEntries, dirdata, name)
	switch {
	case err != nil:
		return 0, faultName(op, dirdata, name, err)
	case value == nil:
		return 0, faultName(op, dirdata, name, syscall.ENOENT)
	}
	h, err := valueHandle(value)
	if err != nil {
		return 0, err
	}
	if err := f(key); err != nil {
		return 0, err
	}
	t.change(d, entries)
	t.extend(h)
	return h, nil
}

// Entries returns up to limit entries after the token, and the next token. Tokens are those of READDIR: proto.TokenStart (or 0)
// starts, and proto.TokenEnd means that there are no more; any other has 48 bits. They stay valid while entries are added and
// removed: an entry that exists throughout is returned once. EINVAL: not a token of this package.
func (t *Tx) Entries(dirdata proto.Handle, token uint64, limit int) (entries []proto.DirEntry, next uint64, err error) {
	if _, err := t.Dir(dirdata); err != nil {
		return nil, 0, err
	}
	next, err = t.page(tEntries, dirdata, token, limit, func(name, value []byte) error {
		h, err := valueHandle(value)
		entries = append(entries, proto.DirEntry{Name: string(name), Handle: h})
		return err
	})
	if err != nil {
		return nil, 0, fault("entries", dirdata, err)
	}
	return entries, next, nil
}

// AllEntries walks the entries of a dirdata object, even if the object itself is missing. For an entry that cannot be read it
// yields an error, and goes on with the next.
func (t *Tx) AllEntries(dirdata proto.Handle) iter.Seq2[proto.DirEntry, error] {
	return func(yield func(proto.DirEntry, error) bool) {
		if err := t.reaches("list", dirdata); err != nil {
			yield(proto.DirEntry{}, err)
			return
		}
		t.scan(tEntries, dirdata, 0, func(_ slot, name, value []byte, err error) bool {
			if err != nil {
				return yield(proto.DirEntry{}, err)
			}
			h, err := valueHandle(value)
			return yield(proto.DirEntry{Name: string(name), Handle: h}, err)
		})
	}
}

// Xattr returns an extended attribute. ENODATA: it does not exist.
func (t *Tx) Xattr(h proto.Handle, name string) ([]byte, error) {
	_, value, err := t.find(tXattrs, h, name)
	if err != nil {
		return nil, faultName("xattr", h, name, err)
	}
	if value == nil {
		return nil, faultName("xattr", h, name, syscall.ENODATA)
	}
	return append([]byte{}, value...), nil
}

// SetXattr sets an extended attribute of an object. ENOENT: there is no object; EEXIST, ENODATA: see XattrMode; EINVAL,
// ENAMETOOLONG.
func (t *Tx) SetXattr(h proto.Handle, name string, value []byte, mode XattrMode) error {
	if err := t.mayGrow(); err != nil {
		return err
	}
	switch {
	case len(name) > proto.MaxName:
		return faultName("set xattr", h, name, syscall.ENAMETOOLONG)
	case !validName(name) || len(value) > proto.MaxXattrValue:
		return faultName("set xattr", h, name, syscall.EINVAL)
	case t.table(tObjects).Get(handleKey(h)) == nil:
		return faultName("set xattr", h, name, syscall.ENOENT)
	}
	key, old, err := t.find(tXattrs, h, name)
	switch {
	case err != nil:
		return faultName("set xattr", h, name, err)
	case mode&XattrCreate != 0 && old != nil:
		return faultName("set xattr", h, name, syscall.EEXIST)
	case mode&XattrReplace != 0 && old == nil:
		return faultName("set xattr", h, name, syscall.ENODATA)
	case key == nil:
		return faultName("set xattr", h, name, syscall.ENOSPC)
	}
	return t.put(tXattrs, key, sealNamed(key, name, value))
}

// DelXattr removes an extended attribute. ENODATA.
func (t *Tx) DelXattr(h proto.Handle, name string) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	key, value, err := t.find(tXattrs, h, name)
	if err != nil {
		return faultName("delete xattr", h, name, err)
	}
	if value == nil {
		return faultName("delete xattr", h, name, syscall.ENODATA)
	}
	return t.remove(tXattrs, key)
}

// Xattrs returns up to limit names after the token, and the next token, like Entries. ENOENT: there is no object.
func (t *Tx) Xattrs(h proto.Handle, token uint64, limit int) (names []string, next uint64, err error) {
	if t.table(tObjects).Get(handleKey(h)) == nil {
		return nil, 0, fault("xattrs", h, syscall.ENOENT)
	}
	next, err = t.page(tXattrs, h, token, limit, func(name, _ []byte) error {
		names = append(names, string(name))
		return nil
	})
	if err != nil {
		return nil, 0, fault("xattrs", h, err)
	}
	return names, next, nil
}

// XattrMode says whether SetXattr requires or forbids an existing attribute. The values are those of the protocol.
type XattrMode int32

// The modes.
const (
	XattrAny     XattrMode = 0
	XattrCreate  XattrMode = 1 // EEXIST if it exists
	XattrReplace XattrMode = 2 // ENODATA if it does not exist
)
