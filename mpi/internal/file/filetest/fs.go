package filetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

// A Kind is a kind of step.
type Kind string

// The kinds of steps. A Rename is two steps on an FS with TwoNames.
const (
	Open   Kind = "open" // also of a directory
	Create Kind = "create"
	Size   Kind = "size"
	Read   Kind = "read"
	Write  Kind = "write"
	Sync   Kind = "sync" // of a file
	Names  Kind = "names"
	Rename Kind = "rename"
	Unname Kind = "unname" // the second step of a Rename
	Delete Kind = "delete"
	Flush  Kind = "flush" // of a directory
	Close  Kind = "close"
)

// A Step is one step of the storage, which is about to happen.
type Step struct {
	Number int // from 0 on, since the hook was set
	Kind   Kind
	Name   string // of the file, or "" for the directory
	Who    any    // of As, or nil
}

// ErrHalf in a hook makes a write happen by half, and fail. For other steps it is a failure.
var ErrHalf = errors.New("filetest: half of it was written")

// A Hook decides about a step: an error prevents it. It may be called by several goroutines.
type Hook func(s Step) error

type whoKey struct{}

// As returns a context that marks steps as made by who.
func As(ctx context.Context, who any) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// An FS is a storage with one directory.
type FS struct {
	// With TwoNames, Rename first adds the new name and then removes the old one, as on a PVFS, and
	// Delete removes a file even if it has another name.
	TwoNames bool

	number int

	mu      sync.Mutex
	hook    Hook // guarded by mu, as all below
	steps   int
	names   map[string]*inode
	durable map[string]*inode // after the last flush
	changed []string          // names that have changed since then
}

// An inode is a file.
type inode struct {
	data, synced []byte
	gone         bool // deleted by one of its names
}

// all are the storages, by number.
var (
	all     sync.Map
	numbers atomic.Int64
	once    sync.Once
)

// prefix begins the names of this storage.
const prefix = "test:"

// New makes a storage, until the end of a test.
func New(t testing.TB) *FS {
	once.Do(func() { storage.Register(prefix, driver{}) })
	f := &FS{number: int(numbers.Add(1)), names: map[string]*inode{}, durable: map[string]*inode{}}
	all.Store(f.number, f)
	t.Cleanup(func() { all.Delete(f.number) })
	return f
}

// Name returns the name of the directory.
func (f *FS) Name() string { return fmt.Sprintf("%s%d/", prefix, f.number) }

// Set sets the hook for all steps from now on, or none.
func (f *FS) Set(h Hook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook, f.steps = h, 0
}

// Steps returns how many steps there were since the hook was set.
func (f *FS) Steps() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.steps
}

// Files returns the names of all files.
func (f *FS) Files() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.names))
}

// Bytes returns the memory of a file, which the test may change; nil if there is none.
func (f *FS) Bytes(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.names[name]; n != nil {
		return n.data
	}
	return nil
}

// SetBytes replaces a file, or makes it.
func (f *FS) SetBytes(name string, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[name] = &inode{data: b, synced: bytes.Clone(b)}
	f.durable[name] = f.names[name]
}

// Remove removes a file.
func (f *FS) Remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.names, name)
	delete(f.durable, name)
}

// Killed returns a copy of the storage as it is if all processes die now.
func (f *FS) Killed(t testing.TB) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.copy(t, f.names, func(n *inode) []byte { return n.data })
}

// sectorBytes is how much of a file is on a disk, or not, as a whole.
const sectorBytes = 512

// Cut returns one of the states in which the storage may be if the machine loses power now.
func (f *FS) Cut(t testing.TB, r *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := maps.Clone(f.durable)
	for _, name := range f.changed { // each change by itself
		if r.IntN(2) == 0 {
			continue
		}
		if n := f.names[name]; n != nil {
			left[name] = n
		} else {
			delete(left, name)
		}
	}
	return f.copy(t, left, func(n *inode) []byte {
		b := bytes.Clone(n.synced)
		if len(n.data) != len(b) && r.IntN(2) == 0 {
			b = append(b[:min(len(b), len(n.data))], make([]byte, max(0, len(n.data)-len(b)))...)
		}
		for at := 0; at < min(len(b), len(n.data)); at += sectorBytes {
			if r.IntN(2) == 0 {
				copy(b[at:min(at+sectorBytes, len(b))], n.data[at:])
			}
		}
		return b
	})
}

// copy returns a storage with some files. mu must be held.
func (f *FS) copy(t testing.TB, names map[string]*inode, data func(n *inode) []byte) *FS {
	c := New(t)
	c.TwoNames = f.TwoNames
	twins := map[*inode]*inode{}
	for name, n := range names {
		if twins[n] == nil {
			b := bytes.Clone(data(n))
			twins[n] = &inode{data: b, synced: bytes.Clone(b), gone: n.gone}
		}
		c.names[name] = twins[n]
	}
	c.durable = maps.Clone(c.names)
	return c
}

// step asks the hook, and does something if it may.
func (f *FS) step(ctx context.Context, kind Kind, name string, do func(half bool) error) error {
	f.mu.Lock()
	h, s := f.hook, Step{f.steps, kind, name, ctx.Value(whoKey{})}
	f.steps++
	f.mu.Unlock()
	if h != nil {
		if err := h(s); err != nil {
			if errors.Is(err, ErrHalf) && kind == Write {
				f.mu.Lock()
				defer f.mu.Unlock()
				_ = do(true)
				return storage.Error(unix.EIO, "write "+name)
			}
			return storage.Error(err, string(kind)+" "+name)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return storage.Error(do(false), string(kind)+" "+name)
}

// set changes what a name leads to. mu must be held.
func (f *FS) set(name string, n *inode) {
	if n == nil {
		delete(f.names, name)
	} else {
		f.names[name] = n
	}
	if !slices.Contains(f.changed, name) {
		f.changed = append(f.changed, name)
	}
}

// driver finds the storage of a name.
type driver struct{}

func find(name string) (*FS, string, error) {
	var number int
	if _, err := fmt.Sscanf(name, "%d/", &number); err == nil {
		if f, ok := all.Load(number); ok {
			_, rest, _ := strings.Cut(name, "/")
			return f.(*FS), rest, nil
		}
	}
	return nil, "", storage.Error(os.ErrNotExist, "open "+prefix+name)
}

func (driver) Open(ctx context.Context, name string, flag int, _ storage.How) (storage.File, error) {
	f, name, err := find(name)
	if err != nil {
		return nil, err
	}
	kind := Open
	if flag&os.O_CREATE != 0 {
		kind = Create
	}
	file := &file{fs: f, name: name}
	err = f.step(ctx, kind, name, func(bool) error {
		n := f.names[name]
		switch {
		case n == nil && flag&os.O_CREATE == 0, n != nil && n.gone:
			return os.ErrNotExist
		case n != nil && flag&os.O_EXCL != 0:
			return os.ErrExist
		case n == nil:
			n = &inode{}
			f.set(name, n)
		}
		file.node = n
		return nil
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (driver) Delete(ctx context.Context, name string) error {
	f, name, err := find(name)
	if err != nil {
		return err
	}
	return (&dir{f}).Delete(ctx, name)
}

func (driver) OpenDir(ctx context.Context, name string, _ bool) (storage.Dir, error) {
	f, _, err := find(name)
	if err == nil {
		err = f.step(ctx, Open, "", func(bool) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	return &dir{f}, nil
}
