// Package shm is the NIC provider for processes on one Linux host. A connection is a memfd
// segment that both sides map. The sender writes directly into the receiver's slot or buffer,
// and rings a doorbell only if the receiver sleeps. RDMA is process_vm_readv and
// process_vm_writev.
//
// docs/internals/protocols/shm.md defines the format, with every offset; layout.go and greeting.go are its
// transcription. The contract is in methods/via/nic, the VI objects in methods/via/vipl.
//
// Everything that another process can write is read once, checked and then used. An
// impossible value ends that connection (nic.ErrProtocol) and no other.
package shm

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// NoCMAEnv is the environment variable that, set to 1, disables RDMA by process_vm_readv and
// process_vm_writev in this process, as some kernels do.
const NoCMAEnv = "VIADUCT_SHM_NO_CMA"

var (
	_ nic.Provider  = Provider{}
	_ nic.Sleeper   = (*Device)(nil)
	_ nic.Allocator = (*Device)(nil)
	_ nic.RDMAPort  = (*Port)(nil)

	_ nic.MultiUser     = Provider{}
	_ nic.Authenticator = (*Port)(nil)
)

// Provider opens devices. The zero value is ready for use.
type Provider struct {
	// Dir is the directory of the sockets; empty means $VIADUCT_SHM_DIR,
	// else $XDG_RUNTIME_DIR/viaduct, else /tmp/viaduct-UID.
	Dir string
	// OpenDir is the directory with the folders of names that users have opened to others;
	// empty means $VIADUCT_SHM_OPEN_DIR, else /run/viaduct.
	OpenDir string
	// Users are added to the users in $VIADUCT_SHM_OTHER_USERS and $VIADUCT_SHM_TRUST.
	Users nic.Users
}

// WithUsers implements nic.MultiUser.
func (pr Provider) WithUsers(users nic.Users) nic.Provider {
	pr.Users = users
	return pr
}

// Name implements nic.Provider.
func (Provider) Name() string { return "shm" }

// Device implements nic.Device, nic.Sleeper and nic.Allocator.
type Device struct {
	dir   *nameDir // of names for our user
	open  *nameDir // of names for all users; nil if our name is not one of them
	name  string   // empty: connect-only
	addr  string
	clock func() time.Duration
	log   *slog.Logger

	// The fields that Poll uses.
	hot       []*conn // open connections whose slots are polled
	cursor    int     // where the next Poll starts in hot, for fairness
	budget    int     // counts down to the next check of the sockets
	emptyCost int     // what an empty Poll takes from it
	urgent    bool    // queue, busy, ending or kept is not empty
	queue     []nic.Event
	queueHead int
	busy      []*Port // ports with descriptors behind an RDMA descriptor
	ending    []*conn // connections in state draining
	armed     bool    // between Arm and Disarm

	lent       *conn // between a Take that lent a buffer and its Return
	lentBuffer uint8

	// Connections in every state, by the index in their epoll tokens.
	conns     []connEntry
	freeConns []int32
	timed     []*conn // those in a state with a deadline
	greetings int
	requests  map[nic.RequestID]*conn
	requestID nic.RequestID
	ports     map[*Port]struct{}

	// The users allowed at the other end of a connection.
	euid      uint32
	ids       idSpace
	forOthers bool     // other users may connect
	trust     []uint32 // users, besides ours and root, to whose devices we connect
	openDir   string
	crowd     crowd

	listener    int
	acceptPause acceptPause
	sweeps      int // that are scheduled
	trim        trim
	timers      timers.Wheel[timer, *timer]

	table table
	blank int // a table without entries, for other users; -1 until one is needed
	probe *probeWord
	noCMA bool
	iov   [SegmentsMax]unix.Iovec

	epfd    int
	events  [eventBatch]unix.EpollEvent
	one     [8]byte // the value that is written to an eventfd
	sleep   sleeper
	memory  allocator
	fileBuf []byte // see fileBuffer
	stats   Stats
	closed  bool
}

// connEntry is the entry of a connection; the generation distinguishes events of an earlier
// connection.
type connEntry struct {
	conn       *conn
	generation int32
}

// deviceCount distinguishes nameless devices of one process.
var deviceCount atomic.Uint64

// Open implements nic.Provider.
func (pr Provider) Open(cfg nic.Config) (nic.Device, error) {
	if cfg.Listen != "" && !validName(cfg.Listen) {
		return nil, fmt.Errorf("shm: bad name %q: use 1 to %d letters, digits, dots, underscores and dashes", cfg.Listen, NameBytesMax)
	}
	d := &Device{
		name: cfg.Listen, addr: cfg.Listen, clock: cfg.Clock, log: cfg.Log,
		listener: -1, epfd: -1, budget: pollBudget,
		requests: make(map[nic.RequestID]*conn),
		ports:    make(map[*Port]struct{}),
		noCMA:    environ.Getenv(NoCMAEnv) == "1",
		blank:    -1,
	}
	d.sleep.wakeFD, d.table.fd = -1, -1
	d.acceptPause.dev, d.trim.dev = d, d
	binary.NativeEndian.PutUint64(d.one[:], 1)
	if d.addr == "" {
		d.addr = fmt.Sprintf("~%d.%d", os.Getpid(), deviceCount.Add(1))
	}
	if d.clock == nil {
		start := time.Now()
		d.clock = func() time.Duration { return time.Since(start) }
	}
	if d.log == nil {
		d.log = slog.Default()
	}
	if err := d.start(&pr); err != nil {
		d.release()
		return nil, err
	}
	d.setCosts()
	return d, nil
}

func (d *Device) start(pr *Provider) (err error) {
	if err = d.admit(pr); err != nil {
		return err
	}
	path := pr.Dir
	if path == "" {
		path = defaultDir()
	}
	if d.dir, err = openDir(path); err != nil {
		return err
	}
	if d.name != "" && d.forOthers {
		if d.open, err = makeOpenDir(d.openDir, d.euid); err != nil {
			return err
		}
	}
	if err = d.table.open(); err != nil {
		return err
	}
	if d.probe, err = newProbe(); err != nil {
		return err
	}
	if !d.noCMA {
		// If the Yama module restricts ptrace, it also restricts process_vm_*. A process may
		// allow access by other processes of its own user.
		_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	}
	if d.epfd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return resourceError("epoll", err)
	}
	if d.sleep.wakeFD, err = newEventfd(); err != nil {
		return err
	}
	if err = d.watch(d.sleep.wakeFD, unix.EPOLLIN, token{kind: tokenWake}); err != nil {
		return err
	}
	if d.name == "" {
		d.sweepNames()
		return nil
	}
	mode := uint32(0o600)
	if d.open != nil {
		mode = 0o666
	}
	if d.listener, err = d.home().listen(d.name, mode); err != nil {
		return err
	}
	d.sweepNames()
	return d.watch(d.listener, unix.EPOLLIN, token{kind: tokenListener})
}

// sweepNames removes names of dead processes, if some are among the next few.
func (d *Device) sweepNames() {
	done := d.home().sweep()
	d.stats.Looked += uint64(done.looked)
	d.stats.Swept += uint64(done.removed)
}

// admit decides which users may be at the other end.
func (d *Device) admit(pr *Provider) error {
	d.euid, d.ids, d.crowd, d.openDir = uint32(os.Geteuid()), readIDSpace(), newCrowd(), pr.openDir()
	switch on := environ.Getenv(OtherUsersEnv); on {
	case "", "0":
	case "1":
		d.forOthers = true
	default:
		return fmt.Errorf("shm: %s=%q: set it to 1 to let other users connect, or leave it out", OtherUsersEnv, on)
	}
	d.forOthers = d.forOthers || pr.Users.Others
	trust, err := parseTrust(environ.Getenv(TrustEnv))
	d.trust = append(append(d.trust, pr.Users.Trust...), trust...)
	return err
}

// home is the directory with our name.
func (d *Device) home() *nameDir {
	if d.open != nil {
		return d.open
	}
	return d.dir
}

// LocalAddr implements nic.Device.
func (d *Device) LocalAddr() string { return d.addr }

// Close implements nic.Device. It waits up to a second for remote accesses to end, and
// reports an error if one did not.
func (d *Device) Close() error {
	if d.closed {
		return nic.ErrClosed
	}
	d.closed = true
	d.table.invalidateAll()
	for i := range d.conns {
		if c := d.conns[i].conn; c != nil && c.state == connOpen {
			c.sayBye(codeNone)
		}
	}
	err := d.waitForHazards()
	d.sleep.shut(d.one[:])
	d.release()
	return err
}

// waitForHazards returns once no remote side is inside an RDMA call on our memory that began
// before the table was invalidated.
func (d *Device) waitForHazards() error {
	start := time.Now()
	for i := range d.conns {
		for c := d.conns[i].conn; c != nil && c.hazard() != 0 && !c.peerGone(); {
			if time.Since(start) > closeWait {
				return fmt.Errorf("shm: %s is still reading or writing registered memory: %w", c.remote, nic.ErrBusy)
			}
			time.Sleep(20 * time.Microsecond)
		}
	}
	return nil
}

// release frees everything that the device holds.
func (d *Device) release() {
	for i := range d.conns {
		if c := d.conns[i].conn; c != nil {
			c.dropLoans()
			c.release()
		}
	}
	for p := range d.ports {
		p.abandon()
	}
	if d.listener >= 0 {
		d.home().remove(d.name)
	}
	for _, fd := range []int{d.listener, d.sleep.wakeFD, d.epfd, d.blank} {
		closeFD(fd)
	}
	d.table.close()
	d.memory.close()
	unmap(d.fileBuf)
	d.fileBuf = nil
	for _, dir := range []*nameDir{d.dir, d.open} {
		if dir != nil {
			dir.close()
		}
	}
}

func newEventfd() (int, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return -1, resourceError("eventfd", err)
	}
	return fd, nil
}

func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

// probeWord is a word of heap memory with an unpredictable value.
type probeWord struct{ value uint64 }

func newProbe() (*probeWord, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("shm: no random numbers: %w", err)
	}
	return &probeWord{value: binary.NativeEndian.Uint64(b[:])}, nil
}
