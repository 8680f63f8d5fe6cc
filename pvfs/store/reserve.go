package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserveBytes is room on the disk that is kept for removals: the database writes new pages even to
// remove something, and on a full disk nobody could ever make room.
const reserveBytes = 1 << 20

// A reserve is a file of that size. When the disk is full it is given up, and until it can be had again nothing
// new is made.
type reserve struct {
	path string
	held bool
}

// fill takes the reserve if there is room for it and as much again, and reports whether it is there.
func (r *reserve) fill() bool {
	if r.held {
		return true
	}
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	defer f.Close() // nothing in it is of interest
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 2*reserveBytes); err == unix.EOPNOTSUPP {
		r.held = true // it would be of no use
		return true
	} else if err != nil {
		_ = f.Truncate(0)
		return false
	}
	r.held = f.Truncate(reserveBytes) == nil
	return r.held
}

// use gives the reserve up, and reports whether that made a difference.
func (r *reserve) use() bool {
	was := r.held
	r.held = false
	return was && os.Truncate(r.path, 0) == nil
}

// mayFill reports whether something new may be made: there is room on the disk, or in the database, whose file
// does not get smaller when things are removed.
func (s *Store) mayFill() bool {
	return s.reserve.fill() || s.db.Stats().FreePageN*s.db.Info().PageSize >= reserveBytes
}
