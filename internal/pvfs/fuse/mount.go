package fuse

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// Options configure New. Zero values mean defaults.
type Options struct {
	// AllowOther lets other users than the one that mounts use the directory. If that one is not root, /etc/fuse.conf must allow
	// it.
	AllowOther bool
	// Callers makes each request for the calling user. It needs root, and is useful only with AllowOther. Otherwise all requests
	// are made for the client's user.
	Callers bool
	// ReadOnly refuses every change.
	ReadOnly bool
	// Flags are further mount options of mount(8): suid, dev, noexec and their opposites. nosuid and nodev are the default.
	Flags []string
	// EntryTime and AttrTime are how long the kernel caches names and attributes: 1 s. Below 0: not at all.
	EntryTime, AttrTime time.Duration
	// Log receives the few events worth a line; nil discards them.
	Log *slog.Logger
	// Debug writes every request to standard error.
	Debug bool
}

const (
	keepTime   = time.Second
	ioMax      = 1 << 20 // bytes of one read or write
	aheadMax   = 4 << 20 // bytes of the kernel's read-ahead
	background = 64      // the kernel's requests in the background

	// O_TRUNC comes with open. The kernel splits large direct reads and writes into parallel requests. Append-only files can be
	// mapped. Clearing the set-id bits is up to this package.
	capabilities = gofuse.CAP_ATOMIC_O_TRUNC | gofuse.CAP_ASYNC_DIO | gofuse.CAP_DIRECT_IO_ALLOW_MMAP | gofuse.CAP_HANDLE_KILLPRIV_V2
)

// A Mount is a directory where a file system is mounted.
type Mount struct {
	fsys   *client.FS
	dir    string
	opt    Options
	server *gofuse.Server
	served chan struct{} // closed after the directory was unmounted

	changes atomic.Int64 // count of changes of all objects

	mu   sync.Mutex
	open map[*file]struct{}
}

// New mounts the file system of a client on a directory, and serves it. The client must not be closed before the mount.
func New(ctx context.Context, fsys *client.FS, dir string, opt Options) (*Mount, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	dir, err := suitable(dir)
	if err != nil {
		return nil, err
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	top, err := fsys.LstatCtx(ctx, "/")
	if err != nil {
		return nil, err
	}
	m := &Mount{fsys: fsys, dir: dir, opt: opt, open: make(map[*file]struct{}), served: make(chan struct{})}
	options := m.options()
	options.RootStableAttr = &gofs.StableAttr{Ino: uint64(top.Handle)}
	server, err := gofuse.NewServer(gofs.NewNodeFS(&node{m: m}, options), dir, &options.MountOptions)
	if err != nil {
		return nil, refused(dir, err)
	}
	m.server = server
	keepToOurselves()
	go func() {
		defer close(m.served)
		server.Serve()
	}()
	if err := server.WaitMount(); err != nil {
		return nil, errors.Join(refused(dir, err), m.Close())
	}
	if err := readAhead(dir); err != nil {
		opt.Log.Info("pvfs: the kernel reads ahead less than it could", "error", err)
	}
	return m, nil
}

// options are the options for go-fuse.
func (m *Mount) options() *gofs.Options {
	entry, attr := timeOr(m.opt.EntryTime), timeOr(m.opt.AttrTime)
	quiet := log.New(logWriter{m.opt.Log}, "", 0)
	options, flags := append([]string{"default_permissions"}, m.opt.Flags...), uintptr(syscall.MS_NOSUID|syscall.MS_NODEV)
	if m.opt.ReadOnly {
		flags |= syscall.MS_RDONLY
		if !direct() {
			options = append(options, "ro")
		}
	}
	return &gofs.Options{
		EntryTimeout: &entry, AttrTimeout: &attr, NullPermissions: true, Logger: quiet,
		MountOptions: gofuse.MountOptions{
			AllowOther:           m.opt.AllowOther,
			Options:              options,
			DirectMountFlags:     flags,
			MaxBackground:        background,
			MaxWrite:             ioMax,
			MaxReadAhead:         aheadMax,
			IgnoreSecurityLabels: true,
			DisableSplice:        true, // data come from memory, and 1 MiB with its header does not fit in a pipe
			ExtraCapabilities:    capabilities,
			FsName:               sourceOf(m.fsys.Name()),
			Name:                 "pvfs",
			DirectMountStrict:    direct(),
			Debug:                m.opt.Debug,
			Logger:               debugLog(m.opt.Debug, quiet),
		},
	}
}

func debugLog(debug bool, quiet *log.Logger) *log.Logger {
	if debug {
		return log.New(os.Stderr, "fuse: ", log.Lmicroseconds)
	}
	return quiet
}

// timeOr replaces 0 by the default, and a negative time by 0.
func timeOr(v time.Duration) time.Duration {
	if v == 0 {
		return keepTime
	}
	return max(v, 0)
}

// logWriter passes go-fuse's messages to the log.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Warn("pvfs: fuse: " + strings.TrimSpace(string(b)))
	return len(b), nil
}

// refused explains why a mount failed.
func refused(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: the kernel does not let this process mount on %s (CAP_SYS_ADMIN is missing): %w", ErrUnavailable, dir, err)
	case !direct(): // fusermount3 has printed the reason to standard error
		return fmt.Errorf("internal/pvfs/fuse: mount on %s: %s", dir, strings.TrimSpace(err.Error()))
	}
	return fmt.Errorf("internal/pvfs/fuse: mount on %s: %w", dir, err)
}

// Dir is the directory of the mount, an absolute path.
func (m *Mount) Dir() string { return m.dir }

// Done is closed after the directory was unmounted, by Close or otherwise.
func (m *Mount) Done() <-chan struct{} { return m.served }

// Close unmounts the directory. If it is in use, Close detaches it, and open files fail when the process ends.
func (m *Mount) Close() error {
	err := m.unmount()
	m.mu.Lock()
	left := make([]*file, 0, len(m.open))
	for f := range m.open {
		left = append(left, f)
	}
	m.mu.Unlock()
	for _, f := range left {
		f.Release(context.Background()) // updates mtime, and removes the object if its name is gone
	}
	return err
}

func (m *Mount) unmount() error {
	select {
	case <-m.served:
		return nil
	default:
	}
	err := m.server.Unmount()
	if err == nil {
		<-m.served
		return nil
	}
	select {
	case <-m.served: // it was unmounted otherwise
		return nil
	default:
	}
	m.opt.Log.Warn("pvfs: the mount is in use; it is taken out of sight", "directory", m.dir, "error", err)
	return Detach(m.dir)
}

// Detach detaches a mount, even if it is in use or its server is gone.
func Detach(dir string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("internal/pvfs/fuse: unmount %s: %w", dir, err)
		}
		return nil
	}
	out, err := exec.Command("fusermount3", "-uz", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("internal/pvfs/fuse: fusermount3 -uz %s: %w: %s", dir, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// add records an open file.
func (m *Mount) add(f *file) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[f] = struct{}{}
	if f.n.open == nil {
		f.n.open = make(map[*file]struct{})
	}
	f.n.open[f] = struct{}{}
}

// remove forgets an open file; false: it was removed already.
func (m *Mount) remove(f *file) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.open[f]
	delete(m.open, f)
	delete(f.n.open, f)
	return ok
}

// uses reports whether the file of a node is open.
func (m *Mount) uses(n *node) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(n.open) > 0
}

// borrow returns any open file of a node, which must be given back; nil if there is none.
func (m *Mount) borrow(n *node) *file {
	m.mu.Lock()
	defer m.mu.Unlock()
	for f := range n.open {
		f.lent.Add(1)
		return f
	}
	return nil
}
