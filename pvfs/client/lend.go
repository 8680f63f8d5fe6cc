package client

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A lender keeps memory into which servers copy file data directly, for reuse by the next file. The amount is limited, and memory
// that is not used for some time is freed, because the garbage collector does not free shared memory.
type lender struct {
	alloc func(size int) ([]byte, error)
	free  func(mem []byte)

	mu     sync.Mutex
	kept   []spare // in the order of return
	bytes  int     // of kept
	expiry *time.Timer
	over   bool // the file system is closed
}

// A spare is memory out of use since a time.
type spare struct {
	mem []byte
	at  time.Time
}

// take returns memory of the given size, or nil if there is none.
func (l *lender) take(size int) []byte {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return nil
	}
	for i, s := range slices.Backward(l.kept) {
		if len(s.mem) == size {
			l.dropLocked(i, i+1)
			l.mu.Unlock()
			return s.mem
		}
	}
	l.mu.Unlock()
	mem, err := l.alloc(size)
	if err != nil {
		return nil // ordinary memory works too
	}
	return mem
}

// give takes memory back. It frees the oldest if there is too much.
func (l *lender) give(mem []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || len(mem) > lentKeptBytesMax {
		l.free(mem)
		return
	}
	l.kept = append(l.kept, spare{mem, time.Now()})
	l.bytes += len(mem)
	for l.bytes > lentKeptBytesMax || len(l.kept) > lentKeptMax {
		l.freeLocked(1)
	}
	if len(l.kept) == 1 {
		l.waitLocked(lentKeptTime)
	}
}

// waitLocked starts the timer that frees old memory.
func (l *lender) waitLocked(d time.Duration) {
	if l.expiry == nil {
		l.expiry = time.AfterFunc(d, l.expire)
	} else {
		l.expiry.Reset(d)
	}
}

// expire frees memory that was not used for lentKeptTime.
func (l *lender) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for len(l.kept) > 0 {
		if left := lentKeptTime - now.Sub(l.kept[0].at); left > 0 {
			l.waitLocked(left)
			return
		}
		l.freeLocked(1)
	}
}

// freeLocked frees the n oldest.
func (l *lender) freeLocked(n int) {
	for _, s := range l.kept[:n] {
		l.free(s.mem)
	}
	l.dropLocked(0, n)
}

func (l *lender) dropLocked(from, to int) {
	for _, s := range l.kept[from:to] {
		l.bytes -= len(s.mem)
	}
	l.kept = slices.Delete(l.kept, from, to)
}

// close stops lending. It frees the kept memory, unless the endpoint does that.
func (l *lender) close(free bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.expiry != nil {
		l.expiry.Stop()
	}
	if free {
		l.freeLocked(len(l.kept))
	}
	l.kept, l.bytes = nil, 0
}

// lending prepares the lender of the mount.
func (c *core) lending() {
	to := func() bmi.Addr { return c.servers[c.data[0]].addr }
	c.lender.alloc = func(size int) ([]byte, error) { return c.ep.AllocShared(to(), size) }
	c.lender.free = func(mem []byte) { _ = c.ep.Free(to(), mem) } // fails only if the endpoint is closed; then the endpoint has freed it
}

// ReadMemory lends memory that file data is read into with fewer copies than into other memory. nil: the method of the file's
// servers has no such memory. Give it back with ReturnMemory when it is not used any more, before the file system is closed.
func (f *File) ReadMemory(size int) []byte {
	c := f.fsys.core
	if !c.lends(c.servers[c.data[0]].addr) {
		return nil
	}
	return c.lender.take(size)
}

// ReturnMemory gives back memory from ReadMemory. Some of it is kept for the next file for some seconds.
func (f *File) ReturnMemory(mem []byte) { f.fsys.lender.give(mem) }

// lends reports whether the method of an address has memory of its own, and servers send files over it without a copy.
func (c *core) lends(a bmi.Addr) bool {
	method, _, _ := strings.Cut(a.String(), "://")
	for _, info := range c.ep.Info() {
		if info.Name == method {
			return info.RegisteredMemory && info.FileSends
		}
	}
	return false
}
