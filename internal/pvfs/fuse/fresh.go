package fuse

import (
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// The kernel caches data of open files. It drops them when it gets a new size or mtime. Times are whole seconds here, so a file
// can change twice with the same mtime, and the kernel would keep the data from before the second change. A freshness detects
// when that is possible. The mount then makes the kernel drop the data.
//
// A server sets the mtime of a changed file to its own time. Once the server's clock has passed the second of the mtime that a
// client has seen, every later change has another mtime. The client does not need the server's clock for that: it waits for a
// second.

// tickTime is the precision of file times, and a little more, because clocks differ in speed.
const tickTime = time.Second + 50*time.Millisecond

// clocksApart is the largest difference between the clocks of servers and clients (docs/reference/security-pvfs.md).
const clocksApart = time.Hour

// A version differs if the data or the attributes of an object differ, up to changes within one second.
type version struct{ size, mtime, ctime int64 }

func versionOf(info *client.Info) version {
	return version{info.Size(), info.Attr.MTime, info.Attr.CTime}
}

// A freshness tracks the kernel's cache of one file's data. The zero value knows nothing.
type freshness struct {
	mu      sync.Mutex
	known   bool
	seen    version   // the last version seen
	since   time.Time // when it was first seen
	given   bool      // the kernel has its size and mtime, so it will not drop data for it
	changes uint64    // counts versions
	trusted bool      // the kernel's data are of this version, and every later change will give another version
}

// begin is called before the attributes of the file are requested. Its result is for give.
func (f *freshness) begin() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// see records attributes that the kernel does not get. It reports whether they differ from the previous ones.
func (f *freshness) see(v version, now time.Time) (changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seeLocked(v, now)
}

func (f *freshness) seeLocked(v version, now time.Time) (changed bool) {
	if f.known && f.seen == v {
		return false
	}
	shows := !f.known || f.seen.size != v.size || f.seen.mtime != v.mtime
	f.known, f.seen, f.since = true, v, now
	f.given = !shows // without a new size or mtime the kernel will not notice the change
	f.changes++
	f.trusted = shows && now.Sub(time.Unix(max(v.mtime, v.ctime), 0)) > clocksApart
	return true
}

// give records attributes that the kernel gets. blind: the kernel's data may be old, and neither size nor mtime shows that. If
// another request found the change since begin, the kernel may not have that answer yet. It notices the change by this answer as
// well.
func (f *freshness) give(v version, now time.Time, began uint64) (blind bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	meanwhile := f.changes != began
	changed := f.seeLocked(v, now)
	blind = f.given && !f.trusted && (changed || !meanwhile)
	f.given = true
	return blind
}

// dropped records that the kernel has dropped its data, after a time at which the file had version v.
func (f *freshness) dropped(v version, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == v && at.Sub(f.since) >= tickTime {
		f.trusted = true
	}
}
