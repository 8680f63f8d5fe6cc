package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserveBytes is room on the disk that is kept for removals. The database needs new pages even to remove a record, so on a full
// disk nothing could be removed any more.
const reserveBytes = 1 << 20

// A reserve is a file of that size. It is given up when the disk is full. Until there is room for it again, nothing new can be
// made.
type reserve struct {
	path string
	held bool
}

// fill makes the reserve if there is room for twice its size, and reports whether it exists.
func (r *reserve) fill() bool {
	if r.held {
		return true
	}
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	defer f.Close() // its contents do not matter
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 2*reserveBytes); err == unix.EOPNOTSUPP {
		r.held = true // this file system cannot reserve room
		return true
	} else if err != nil {
		_ = f.Truncate(0)
		return false
	}
	r.held = f.Truncate(reserveBytes) == nil
	return r.held
}

// use gives the reserve up, and reports whether there was one.
func (r *reserve) use() bool {
	was := r.held
	r.held = false
	return was && os.Truncate(r.path, 0) == nil
}

// mayFill reports whether something new may be made: there is room on the disk, or in the database, whose file does not shrink
// when records are removed.
func (s *Store) mayFill() bool {
	return s.reserve.fill() || s.db.Stats().FreePageN*s.db.Info().PageSize >= reserveBytes
}
