package shm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Connect implements nic.Port. Local errors (a bad name, no descriptors, no memory) are returned at once,
// others come as an event.
func (p *Port) Connect(addr string, private []byte, timeout time.Duration) error {
	d := p.dev
	switch {
	case d.closed || p.closed:
		return nic.ErrClosed
	case p.conn != nil:
		return fmt.Errorf("shm: port is connected or connecting already, disconnect it first")
	case !validName(addr):
		return fmt.Errorf("shm: bad name %q: use 1 to %d letters, digits, dots, underscores and dashes", addr, NameBytesMax)
	case len(private) > nic.PrivateDataMax:
		return fmt.Errorf("shm: %d bytes of private data, at most %d may travel with a connect request", len(private), nic.PrivateDataMax)
	}
	if timeout <= 0 {
		timeout = connectTimeout
	}
	c, err := d.newConn(client, connDialing)
	if err != nil {
		return err
	}
	c.remote = addr
	if err := c.prepare(private); err != nil {
		c.release()
		return err
	}
	p.attach(c)
	d.startTimer(c, timeout)
	c.dial()
	return nil
}

// prepare makes the segment and the doorbells, and fills in the hello.
func (c *conn) prepare(private []byte) (err error) {
	d := c.dev
	fd, mem, err := newSegment()
	if err != nil {
		return err
	}
	c.helloFDs = append(c.helloFDs, fd)
	c.attach(mem)
	if c.bellOut, err = newEventfd(); err != nil {
		return err
	}
	if c.bellIn, err = newEventfd(); err != nil {
		return err
	}
	c.hello = hello{addr: d.addr, private: bytes.Clone(private)}
	return nil
}

// dial connects the socket and sends the hello, or tries again later while the listener's backlog is full.
func (c *conn) dial() {
	d := c.dev
	fd, err := newSocket()
	if err != nil {
		c.fail(err)
		return
	}
	err = d.connectTo(fd, c.remote)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		closeFD(fd)
		c.retryDial()
		return
	}
	c.sock = fd
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ECONNREFUSED):
		d.sweepLater(c.remote) // no process listens: perhaps a file without a process
		c.fail(fault.Markf(nic.ErrUnreachable, "no process listens under this name in %s, nor in %s among the names of users %v (%s adds users)",
			d.dir.path, d.openDir, d.trusted(), TrustEnv))
		return
	case errors.Is(err, os.ErrPermission):
		c.fail(fault.Mark(err, nic.ErrUnreachable))
		return
	case err != nil:
		c.fail(resourceError("connect to "+c.remote, err))
		return
	}
	if c.peer, err = d.readPeer(fd); err == nil {
		err = d.checkServer(c.remote, &c.peer)
	}
	if err != nil {
		d.stats.Strangers++
		c.fail(err)
		return
	}
	var table int
	if c.hello.rights, c.hello.probe, table, err = c.offer(); err != nil {
		c.fail(err)
		return
	}
	if err = sendRecord(fd, c.hello.append(nil), c.helloFDs[0], c.bellOut, c.bellIn, table); err != nil {
		c.fail(fault.Markf(nic.ErrUnreachable, "shm: hello: %w", err))
		return
	}
	c.closeHelloFDs()
	c.become(connAsking)
	if err = d.watchSocket(c); err == nil {
		err = d.watchBell(c)
	}
	if err != nil {
		c.fail(err)
	}
}

// connectTo connects a socket to a name: to one of our own user, or else to one that is open to all users, of a
// user that we trust.
func (d *Device) connectTo(fd int, name string) error {
	err := unix.Connect(fd, d.dir.sockaddr(name))
	if !absent(err) {
		return err
	}
	var problem error
	for _, uid := range d.trusted() {
		dir, e := lookIn(d.openDir, uid)
		if e == nil {
			e = unix.Connect(fd, dir.sockaddr(name))
			dir.close()
			if e == nil || errors.Is(e, unix.EAGAIN) || errors.Is(e, unix.EINTR) {
				return e
			}
		}
		if problem == nil && !absent(e) {
			problem = e
		}
	}
	if problem != nil {
		return problem
	}
	return err
}

// absent: no process listens under this name.
func absent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) }

// fail ends a connection attempt of the client.
func (c *conn) fail(err error) {
	p := c.port
	p.detach(c)
	c.release()
	c.dev.push(nic.Event{Kind: nic.EventConnectFailed, Cookie: p.cookie, Conn: &nic.ConnEvent{Remote: c.remote, Err: err}})
}

// answered handles the server's answer to a hello.
func (c *conn) answered(r *record) {
	defer r.closeFDs()
	if r.end {
		c.dev.sweepLater(c.remote)
		c.fail(fault.Markf(nic.ErrPeerDied, "it closed the connection before it answered")) // or it has no time for so many
		return
	}
	kind, err := parsePrefix(r.data)
	switch {
	case err != nil:
	case kind == kindAccept && !r.cut && len(r.fds) == acceptFDs:
		err = c.accepted(r)
	case kind == kindAccept && len(r.fds) < acceptFDs:
		err = resourceError("accept from "+c.remote, unix.EMFILE)
	case kind == kindReject && !r.cut:
		err = c.rejected(r.data)
	default:
		err = fmt.Errorf("shm: %s gave an answer of kind %d with %d descriptors: %w", c.remote, kind, len(r.fds), nic.ErrProtocol)
	}
	if err != nil {
		if errors.Is(err, nic.ErrProtocol) {
			c.dev.stats.ProtocolErrors++
		}
		c.fail(err)
	}
}

func (c *conn) accepted(r *record) error {
	a, err := parseAccept(r.data)
	if err != nil {
		return err
	}
	if a.addr != c.remote {
		return fmt.Errorf("shm: %s answers under the name %s: %w", c.remote, a.addr, nic.ErrProtocol)
	}
	if err = c.takeTable(r.fds[0]); err != nil {
		return err
	}
	c.theirRights = a.rights
	c.reach = c.tryProbe(a.probe)
	c.reached = a.reach
	if err := sendRecord(c.sock, confirm{reach: c.reach}.append(nil)); err != nil {
		return fmt.Errorf("shm: confirm to %s (%w): %w", c.remote, err, nic.ErrPeerDied)
	}
	c.open()
	return nil
}

// rejected turns a refusal into the error that says what to do.
func (c *conn) rejected(b []byte) error {
	rej, err := parseReject(b)
	if err != nil {
		return err
	}
	switch rej.code {
	case codeNone:
		return &nic.RejectError{Remote: c.remote, Reason: append([]byte(nil), rej.reason...)}
	case codeVersion:
		return fmt.Errorf("shm: %s speaks another format version than %d: %w", c.remote, formatVersion, nic.ErrVersion)
	case codeResource:
		return fault.Markf(nic.ErrAgain, "it is out of memory or file descriptors (ulimit -n there)")
	case codeUserLimit:
		return fault.Markf(nic.ErrUnreachable, "uid %d has as many connections to it as one user may have there, close some", c.dev.euid)
	case codeBusy:
		return fault.Markf(nic.ErrAgain, "it has too many connect requests waiting, try again later")
	}
	return fmt.Errorf("shm: %s did not understand our hello (code %d): %w", c.remote, rej.code, nic.ErrProtocol)
}

func (d *Device) ourProbe() probe {
	return probe{addr: uint64(uintptr(unsafe.Pointer(&d.probe.value))), value: d.probe.value}
}

// onSocket handles the records on a connection's socket.
func (d *Device) onSocket(c *conn) {
	r, ok := recvRecord(c.sock)
	if !ok {
		return
	}
	switch c.state {
	case connAsking:
		c.answered(&r)
	case connGreeting:
		d.greeted(c, &r)
	case connRequested:
		c.withdrawn()
	case connAnswered:
		c.confirmed(&r)
	case connOpen:
		c.ended(&r)
	case connLingering:
		c.letGo(&r)
	}
	r.closeFDs()
}

// letGo releases a connection that this side has ended, once the other side no longer uses our memory: its bye
// crossed ours, or its socket closed.
func (c *conn) letGo(r *record) {
	kind, err := parsePrefix(r.data)
	if r.end || err == nil && kind == kindBye {
		if r.end {
			c.dev.sweepLater(c.remote) // its death may be why this side ended it
		}
		c.release()
	}
}

// ended handles the only events on an open connection's socket: the doorbell of another user's process, a bye,
// or the end of the process at the other end.
func (c *conn) ended(r *record) {
	if r.end {
		c.dev.stats.PeersDied++
		c.dev.sweepLater(c.remote)
		c.drain(c.posted, fmt.Errorf("shm: %s: %w", c.remote, nic.ErrPeerDied))
		return
	}
	kind, err := parsePrefix(r.data)
	if err == nil && kind == kindRing && len(r.data) == prefixBytes && len(r.fds) == 0 {
		c.dev.stats.DoorbellsHeard++
		c.dev.makeHot(c)
		return
	}
	if err != nil || kind != kindBye || r.cut || len(r.fds) > 0 {
		c.breakRules("an unexpected record to the socket")
		return
	}
	y, err := parseBye(r.data)
	if err != nil || y.sent > c.posted || y.sent < c.received {
		c.breakRules("a bye that cannot be")
		return
	}
	err = nil
	switch y.code {
	case codeNone:
	case codeNoDescriptor:
		err = fmt.Errorf("shm: %s ended the connection: it sent a message that no receive was posted for", c.remote)
	default:
		err = fmt.Errorf("shm: %s ended the connection: it found our side of it damaged (code %d): %w", c.remote, y.code, nic.ErrProtocol)
	}
	c.drain(y.sent, err)
}
