package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Problem is a problem found by Check.
type Problem struct {
	Handle   proto.Handle // 0: in the store as a whole
	What     string
	Repaired bool
	Leftover bool // not damage: an operation of several steps was interrupted
}

func (p Problem) String() string {
	s := p.What
	if p.Handle != 0 {
		s = fmt.Sprintf("object %d: %s", p.Handle, p.What)
	}
	if p.Repaired {
		s += " (repaired)"
	}
	return s
}

// A finding is a problem with its repair; nil if there is none.
type finding struct {
	Problem
	mend func(t *Tx) error
}

// A checker walks over the tables of one state.
type checker struct {
	t     *Tx
	found []finding
	types map[proto.Handle]proto.ObjType // of all objects
	lost  map[proto.Handle]bool          // objects whose record cannot be read
	now   state                          // as counted by the check
}

func (c *checker) add(h proto.Handle, mend func(t *Tx) error, format string, args ...any) {
	c.found = append(c.found, finding{Problem{Handle: h, What: fmt.Sprintf(format, args...)}, mend})
}

// Check examines the whole store: the pages of its database, every record, counts, extended attributes and files without an
// object. With repair it repairs what it can; nothing else may use the store meanwhile. It drops records that cannot be read, and
// moves files without an object to the folder orphans. Package fsck checks the references between objects, over all servers. An
// error says that Check could not examine everything, because the database itself is damaged.
func (s *Store) Check(repair bool) ([]Problem, error) {
	c := &checker{types: map[proto.Handle]proto.ObjType{}, lost: map[proto.Handle]bool{}}
	err := s.checkPages()
	if err != nil {
		return nil, err
	}
	err = s.View(func(t *Tx) error {
		c.t = t
		c.objects()
		c.dirs()
		c.names(tEntries, "entry")
		c.names(tXattrs, "extended attribute")
		c.rest()
		is, err := parseState(t.table(tStore).Get(stateKey)) // of this moment, because updates may go on
		if err != nil {
			is = *s.state.Load()
		}
		c.counts(&is)
		return nil
	})
	if err == nil {
		err = s.checkFiles(c)
	}
	repair = repair && err == nil && !s.opts.ReadOnly
	problems := make([]Problem, len(c.found))
	for i, f := range c.found {
		problems[i] = f.Problem
		if repair && f.mend != nil {
			e := s.Update(f.mend)
			problems[i].Repaired = e == nil
			err = errors.Join(err, e)
		}
	}
	if repair && len(c.found) > 0 {
		err = errors.Join(err, s.recount())
	}
	return problems, err
}

// drop is the repair that removes a record.
func drop(table int, key []byte) func(*Tx) error {
	key = bytes.Clone(key)
	return func(t *Tx) error { return t.remove(table, key) }
}

func (c *checker) objects() {
	cur := c.t.table(tObjects).Cursor()
	for key, record := cur.First(); key != nil; key, record = cur.Next() {
		if len(key) != 8 || keyHandle(key) == 0 {
			c.add(0, drop(tObjects, key), "object with key %x", key)
			continue
		}
		h := keyHandle(key)
		body, err := unseal(key, record)
		var o Object
		if err == nil {
			o, err = parseObject(body)
		}
		if err == nil && !validType(o.Type) {
			err = damaged("object of type %d", o.Type)
		}
		if err != nil {
			c.lost[h] = true
			c.add(h, drop(tObjects, key), "%v", err)
			continue
		}
		c.types[h] = o.Type
		c.now.objects[typeIndex(o.Type)]++
	}
}

// dirs compares the counts of directories with their entries.
func (c *checker) dirs() {
	entries := map[proto.Handle]int64{}
	cur := c.t.table(tEntries).Cursor()
	for key, _ := cur.First(); key != nil; key, _ = cur.Next() {
		if len(key) == 14 {
			entries[keyHandle(key[:8])]++
		}
	}
	cur = c.t.table(tDirs).Cursor()
	seen := map[proto.Handle]bool{}
	for key, record := cur.First(); key != nil; key, record = cur.Next() {
		if len(key) != 8 {
			c.add(0, drop(tDirs, key), "directory count with key %x", key)
			continue
		}
		h := keyHandle(key)
		seen[h] = true
		d, err := unsealDir(key, record)
		switch {
		case c.lost[h]: // reported already
		case c.types[h] != proto.TypeDirdata:
			c.add(h, drop(tDirs, key), "has a count of entries, but is no dirdata object")
		case err != nil:
			c.add(h, c.setCount(h, d), "%v", err)
		case d.Count != entries[h]:
			c.add(h, c.setCount(h, d), "counts %d entries and has %d", d.Count, entries[h])
		}
	}
	for h, typ := range c.types {
		if typ == proto.TypeDirdata && !seen[h] {
			c.add(h, c.setCount(h, DirState{}), "has no count of entries")
		}
	}
}

// setCount is the repair of a count. It runs after the other repairs.
func (c *checker) setCount(h proto.Handle, d DirState) func(*Tx) error {
	return func(t *Tx) error {
		d.Count = 0
		prefix := handleKey(h)
		cur := t.table(tEntries).Cursor()
		for key, _ := cur.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = cur.Next() {
			d.Count++
		}
		d.Version = dirVersion(t.w.now, d.Version)
		return t.put(tDirs, prefix, sealDir(prefix, d))
	}
}

// names checks all records of a table of names.
func (c *checker) names(table int, what string) {
	cur := c.t.table(table).Cursor()
	for key, record := cur.First(); key != nil; key, record = cur.Next() {
		if len(key) != 14 {
			c.add(0, drop(table, key), "%s with key %x", what, key)
			continue
		}
		h := keyHandle(key[:8])
		name, value, err := unsealNamed(key, record)
		switch {
		case err == nil && table == tEntries:
			_, err = valueHandle(value)
		}
		first := slot(0)
		if err == nil {
			first = c.t.s.slotOf(string(name))
		}
		switch at := keySlot(key); {
		case err != nil:
			c.add(h, c.dropName(table, h, key), "%s: %v", what, err)
		case at < first || at >= first+sameHash:
			c.add(h, c.dropName(table, h, key), "%s %q is in a place that is not its own", what, name)
		case c.lost[h]: // the object is reported; its names stay until it is gone
			c.add(h, drop(table, key), "%s %q of an object that cannot be read", what, name)
		case c.types[h] == proto.TypeNone || table == tEntries && c.types[h] != proto.TypeDirdata:
			c.add(h, drop(table, key), "%s %q without its object", what, name)
		default:
			if table == tEntries {
				c.now.entries++
			}
		}
	}
}

func (c *checker) dropName(table int, h proto.Handle, key []byte) func(*Tx) error {
	key = bytes.Clone(key)
	return func(t *Tx) error {
		if err := t.remove(table, key); err != nil || table != tEntries || c.types[h] != proto.TypeDirdata {
			return err
		}
		d, err := t.Dir(h)
		if err != nil {
			d = DirState{}
		}
		return c.setCount(h, d)(t)
	}
}

// rest checks the server's own records, pools, and marks of removed datafiles.
func (c *checker) rest() {
	cur := c.t.table(tRecords).Cursor()
	for key, record := cur.First(); key != nil; key, record = cur.Next() {
		if _, err := unseal(key, record); err != nil {
			c.add(0, drop(tRecords, key), "record %q: %v", key, err)
		}
	}
	cur = c.t.table(tPools).Cursor()
	for key, _ := cur.First(); key != nil; key, _ = cur.Next() {
		if len(key) < 10 || key[len(key)-9] != 0 {
			c.add(0, drop(tPools, key), "pool with key %x", key)
		}
	}
	cur = c.t.table(tDead).Cursor()
	for key, _ := cur.First(); key != nil; key, _ = cur.Next() {
		if len(key) != 8 || c.types[keyHandle(key)] != proto.TypeNone {
			c.add(0, drop(tDead, key), "mark %x of a removed datafile", key)
		}
	}
	c.marks()
}

// marks checks the marks of failed syncs. A mark ends only when the datafile is written again.
func (c *checker) marks() {
	cur := c.t.table(tMarks).Cursor()
	for key, record := cur.First(); key != nil; key, record = cur.Next() {
		if len(key) != 8 || c.types[keyHandle(key)] != proto.TypeDatafile {
			c.add(0, drop(tMarks, key), "mark %x of a failed sync, of no datafile", key)
			continue
		}
		h := keyHandle(key)
		switch m, err := unsealMark(key, record); {
		case err != nil:
			c.add(h, remark(h), "%v", err)
		case m.name:
			c.add(h, nil, "a sync of its file's name failed: its bytes may be lost")
		case m.length == math.MaxInt64:
			c.add(h, nil, "a sync failed: its bytes may be lost")
		default:
			c.add(h, nil, "a sync failed: of its first %d bytes some may be lost", m.length)
		}
	}
}

// remark repairs a mark of a failed sync that cannot be read: all bytes may be lost.
func remark(h proto.Handle) func(*Tx) error {
	key := handleKey(h)
	return func(t *Tx) error { return t.put(tMarks, key, sealMark(key, newMark(math.MaxInt64, false))) }
}

// counts compares the counters with the counted objects.
func (c *checker) counts(is *state) {
	counter := func(what string, is, found int64) {
		if is != found {
			c.add(0, func(*Tx) error { return nil }, "counter of %s is %d, there are %d", what, is, found)
		}
	}
	for i, n := range c.now.objects {
		counter(fmt.Sprintf("objects of type %d", 1<<i), is.objects[i], n)
	}
	counter("entries", is.entries, c.now.entries)
	for _, r := range is.ranges {
		used := int64(0)
		for h := range c.types {
			if r.has(h) {
				used++
			}
		}
		counter(fmt.Sprintf("handles of %d-%d", r.First, r.Last), int64(r.used), used)
	}
}

// recount sets all counters to the counted values.
func (s *Store) recount() error {
	return s.Update(func(t *Tx) error {
		c := &checker{t: t, types: map[proto.Handle]proto.ObjType{}, lost: map[proto.Handle]bool{}}
		c.objects()
		c.names(tEntries, "entry")
		t.w.state.objects, t.w.state.entries = c.now.objects, c.now.entries
		for i := range t.w.state.ranges {
			r := &t.w.state.ranges[i]
			r.used = 0
			for h := range c.types {
				if r.has(h) {
					r.used++
				}
			}
		}
		t.w.undo = append(t.w.undo, func() {}) // so that there is a change
		return nil
	})
}

// checkPages checks the pages of the database. Nothing writes meanwhile.
func (s *Store) checkPages() error {
	return guard("check", func() error {
		tx, err := s.db.Begin(!s.opts.ReadOnly)
		if err != nil {
			return err
		}
		defer tx.Rollback() // fails only after a commit
		if long, err := findLoops(tx, true); long != nil || err != nil {
			return errors.Join(long, err)
		}
		if err := walkPages(tx); err != nil {
			return err
		}
		return checkPages(tx)
	})
}

// checkFiles finds files that belong to no datafile.
func (s *Store) checkFiles(c *checker) error {
	type orphan struct {
		h    proto.Handle
		path string
	}
	var orphans []orphan
	err := s.files.walk(func(h proto.Handle, path string) error {
		if c.types[h] != proto.TypeDatafile && !s.isDatafile(h) && !s.isDead(h) { // it may be new, or about to be removed
			orphans = append(orphans, orphan{h, path})
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	slices.SortFunc(orphans, func(a, b orphan) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	for _, o := range orphans {
		c.add(o.h, func(*Tx) error { return s.setAside(o.path) }, "file %s belongs to no datafile", o.path)
	}
	return err
}

// setAside moves a file to the folder of orphans.
func (s *Store) setAside(path string) error {
	dir := filepath.Join(s.dir, orphansName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	to := filepath.Join(dir, filepath.Base(path))
	for i := 1; ; i++ {
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			return os.Rename(path, to)
		}
		to = filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(path), i))
	}
}
