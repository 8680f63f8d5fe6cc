package fuse

import (
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// The kernel keeps bytes of open files. It drops them when it gets a new size or time of modification. Times are whole seconds here,
// so a file can be changed twice with the same time, and the kernel would keep the bytes from before the second change. A freshness
// finds out when that can be, and then the mount makes the kernel drop them.
//
// A server gives a changed file its own time. Once the server's clock has gone past the second of the time that a client has
// seen, every later change has another time. The client does not need the server's clock for that: it waits for a second.

// tickTime is the precision of times of files, and a little more for clocks of different speed.
const tickTime = time.Second + 50*time.Millisecond

// clocksApart is how much the clocks of servers and clients may differ (docs/security-pvfs.md).
const clocksApart = time.Hour

// A version is what differs if the bytes or the attributes of an object do, as far as whole seconds tell.
type version struct{ size, mtime, ctime int64 }

func versionOf(info *client.Info) version {
	return version{info.Size(), info.Attr.MTime, info.Attr.CTime}
}

// A freshness is what a mount knows about the bytes that the kernel keeps of one file. The zero value knows nothing.
type freshness struct {
	mu      sync.Mutex
	known   bool
	seen    version   // the last one
	since   time.Time // when it was seen for the first time
	given   bool      // the kernel has it
	changes uint64    // counts versions
	trusted bool      // the kernel's bytes are of this version, and every later change makes another one
}

// begin is called before the attributes of the file are asked for. Its result is for give.
func (f *freshness) begin() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// see notes attributes that the kernel does not get. It reports whether they are not those from before.
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
	f.given = !shows // the kernel does not see the change though it gets the version
	f.changes++
	f.trusted = shows && now.Sub(time.Unix(max(v.mtime, v.ctime), 0)) > clocksApart
	return true
}

// give notes attributes that the kernel gets. blind: the bytes that it keeps may be old, and neither size nor time of modification shows
// it that. If another request found the change meanwhile, since begin, the kernel may not have its answer yet, and sees the
// change by this one as well.
func (f *freshness) give(v version, now time.Time, began uint64) (blind bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	meanwhile := f.changes != began
	changed := f.seeLocked(v, now)
	blind = f.given && !f.trusted && (changed || !meanwhile)
	f.given = true
	return blind
}

// dropped notes that the kernel has dropped its bytes, after a time at which the file had a version.
func (f *freshness) dropped(v version, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == v && at.Sub(f.since) >= tickTime {
		f.trusted = true
	}
}
