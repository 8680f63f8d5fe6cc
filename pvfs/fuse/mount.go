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

// Options are of New. Zero values mean defaults.
type Options struct {
	// AllowOther lets other users than the one who mounts use the directory. Users other than root may
	// do that only if /etc/fuse.conf says so.
	AllowOther bool
	// Callers makes each request for the user who calls. It needs root, and AllowOther to make sense. Otherwise all
	// requests are for the user of the client.
	Callers bool
	// ReadOnly refuses every change.
	ReadOnly bool
	// Flags are others of the mount, as mount(8) names them: suid, dev, noexec and their opposites. nosuid and nodev
	// are set unless they say otherwise.
	Flags []string
	// EntryTime and AttrTime are how long the kernel keeps names and attributes without asking: 1 s. Below 0: not at all.
	EntryTime, AttrTime time.Duration
	// Log takes the few events worth a line; nil discards them.
	Log *slog.Logger
	// Debug writes every request to standard error.
	Debug bool
}

const (
	keepTime   = time.Second
	ioMax      = 1 << 20 // bytes of one read or write
	aheadMax   = 4 << 20 // bytes that the kernel reads ahead
	background = 64      // requests that the kernel makes ahead

	// O_TRUNC comes with open; large direct reads and writes are divided into requests that run at a time; files
	// that are appended to can be mapped; set-id bits are ours to take away.
	capabilities = gofuse.CAP_ATOMIC_O_TRUNC | gofuse.CAP_ASYNC_DIO | gofuse.CAP_DIRECT_IO_ALLOW_MMAP | gofuse.CAP_HANDLE_KILLPRIV_V2
)

// A Mount is a directory where a file system is mounted.
type Mount struct {
	fsys   *client.FS
	dir    string
	opt    Options
	server *gofuse.Server
	served chan struct{} // closed when the directory is unmounted

	changes atomic.Int64 // of all objects

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

// options are those of go-fuse.
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
			DisableSplice:        true, // bytes come from memory, and 1 MiB with its header fits no pipe
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

// timeOr puts the default in place of 0, and 0 in place of what is below.
func timeOr(v time.Duration) time.Duration {
	if v == 0 {
		return keepTime
	}
	return max(v, 0)
}

// logWriter hands on what go-fuse has to say.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Warn("pvfs: fuse: " + strings.TrimSpace(string(b)))
	return len(b), nil
}

// refused says why a mount did not succeed.
func refused(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: the kernel does not let this process mount on %s (CAP_SYS_ADMIN is missing): %w", ErrUnavailable, dir, err)
	case !direct(): // fusermount3 has said why on standard error
		return fmt.Errorf("pvfs/fuse: mount on %s: %s", dir, strings.TrimSpace(err.Error()))
	}
	return fmt.Errorf("pvfs/fuse: mount on %s: %w", dir, err)
}

// Dir is where the file system is mounted, an absolute path.
func (m *Mount) Dir() string { return m.dir }

// Done is closed when the directory is unmounted, by Close or by somebody else.
func (m *Mount) Done() <-chan struct{} { return m.served }

// Close unmounts the directory. If programs use it, it is taken out of sight, and what they have open fails when the
// process ends.
func (m *Mount) Close() error {
	err := m.unmount()
	m.mu.Lock()
	left := make([]*file, 0, len(m.open))
	for f := range m.open {
		left = append(left, f)
	}
	m.mu.Unlock()
	for _, f := range left {
		f.Release(context.Background()) // its time, and the object if its name is gone
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
	case <-m.served: // somebody else did
		return nil
	default:
	}
	m.opt.Log.Warn("pvfs: the mount is in use; it is taken out of sight", "directory", m.dir, "error", err)
	return Detach(m.dir)
}

// Detach takes a mount out of sight, even if it is in use or its server is gone.
func Detach(dir string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("pvfs/fuse: unmount %s: %w", dir, err)
		}
		return nil
	}
	out, err := exec.Command("fusermount3", "-uz", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pvfs/fuse: fusermount3 -uz %s: %w: %s", dir, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// add notes an open file.
func (m *Mount) add(f *file) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[f] = struct{}{}
	if f.n.open == nil {
		f.n.open = make(map[*file]struct{})
	}
	f.n.open[f] = struct{}{}
}

// remove forgets an open file; false: it was not there any more.
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

// borrow is any open file of a node, which must be given back; nil if there is none.
func (m *Mount) borrow(n *node) *file {
	m.mu.Lock()
	defer m.mu.Unlock()
	for f := range n.open {
		f.lent.Add(1)
		return f
	}
	return nil
}
