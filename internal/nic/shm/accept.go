package shm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// acceptSockets accepts new sockets from the listener.
func (d *Device) acceptSockets() {
	for range acceptBatch {
		fd, _, err := unix.Accept4(d.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			d.greet(fd)
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
		case errors.Is(err, unix.EAGAIN):
			return
		default:
			// Out of descriptors or memory: the listener would stay ready and keep all sleepers awake, so leave
			// it alone for a while.
			d.stats.OutOfResources++
			d.pauseAccept()
			d.push(nic.Event{Kind: nic.EventError, Conn: &nic.ConnEvent{Err: resourceError("accept", err)}})
			return
		}
	}
}

func (d *Device) pauseAccept() {
	d.unwatch(d.listener)
	d.set(&d.acceptPause.timer, &d.acceptPause, acceptPauseTime)
}

func (d *Device) resumeAccept() {
	if err := d.watch(d.listener, unix.EPOLLIN, token{kind: tokenListener}); err != nil {
		d.pauseAccept()
	}
}

// greet checks the peer of a new socket and waits for the hello, which a correct client sends at once.
func (d *Device) greet(fd int) {
	p, err := d.readPeer(fd)
	if err == nil {
		err = d.checkClient(&p)
	}
	if err != nil {
		d.stats.Strangers++
		closeFD(fd)
		return
	}
	share := d.crowd.enter(&p)
	if share == nil {
		d.stats.UserLimit++
		refuse(fd, codeUserLimit)
		closeFD(fd)
		return
	}
	if d.greetings >= greetingsMax {
		d.crowdOut()
	}
	c, err := d.newConn(server, connGreeting)
	if err != nil {
		d.stats.OutOfResources++
		refuse(fd, codeResource)
		closeFD(fd)
		d.crowd.leave(&p)
		return
	}
	d.greetings++
	share.greetings++
	c.sock, c.peer, c.share = fd, p, share
	if err := d.watchSocket(c); err != nil {
		d.stats.OutOfResources++
		refuse(fd, codeResource)
		c.release()
		return
	}
	d.startTimer(c, greetTimeout)
	d.onSocket(c)
}

// crowdOut drops the oldest silent socket of the user that has most of them.
func (d *Device) crowdOut() {
	var out *conn
	for _, c := range d.timed {
		if c.state == connGreeting && (out == nil || c.share.greetings > out.share.greetings) {
			out = c
		}
	}
	if out != nil {
		d.stats.HalfOpen++
		out.release()
	}
}

func refuse(fd int, code uint16) {
	_ = sendRecord(fd, reject{code: code}.append(nil))
}

// greeted handles the first record of a client.
func (d *Device) greeted(c *conn, r *record) {
	if r.end {
		d.stats.Probed++
		c.release()
		return
	}
	h, err := parseHello(r.data)
	code := codeProtocol
	switch {
	case errors.Is(err, nic.ErrVersion):
		d.stats.WrongVersion++
		code = codeVersion
	case err != nil:
		d.stats.Malformed++
	case r.cut && len(r.fds) < helloFDs:
		// The kernel drops descriptors beyond our limit.
		d.stats.OutOfResources++
		code, err = codeResource, resourceError("hello from "+h.addr, unix.EMFILE)
	case r.cut || len(r.fds) != helloFDs:
		d.stats.Malformed++
		err = malformed("hello", len(r.data))
	case !d.mayRequest(c):
		d.countBusy(c)
		code = codeBusy
		err = fmt.Errorf("shm: %d connect requests wait already, accept or reject them: %w", len(d.requests), nic.ErrAgain)
	default:
		code, err = c.takeDescriptors(r, &h)
	}
	if err != nil {
		refuse(c.sock, code)
		c.release()
		d.push(nic.Event{Kind: nic.EventError, Conn: &nic.ConnEvent{Remote: c.peer.nameOf(h.addr), Err: err}})
		return
	}
	c.request = d.requestID
	c.become(connRequested)
	d.stopTimer(c)
	d.requests[c.request] = c
	d.push(nic.Event{Kind: nic.EventConnectRequest, Conn: &nic.ConnEvent{
		Request: c.request, Remote: c.remote, Private: append([]byte(nil), h.private...),
		User: &c.peer.user, OtherUser: c.peer.other,
	}})
}

// countBusy counts a request for which there is no room.
func (d *Device) countBusy(c *conn) {
	if c.peer.other {
		d.stats.UserLimit++
	} else {
		d.stats.OutOfResources++
	}
}

// takeDescriptors checks the descriptors of a hello and takes them over.
func (c *conn) takeDescriptors(r *record, h *hello) (code uint16, err error) {
	d := c.dev
	for _, fd := range r.fds[1:3] {
		if err := checkDoorbell(fd); err != nil {
			d.stats.Malformed++
			return codeProtocol, err
		}
	}
	mem, err := openSegment(r.fds[0])
	if err == nil {
		if err = c.takeTable(r.fds[3]); err != nil {
			unmap(mem)
		}
	}
	if errors.Is(err, nic.ErrProtocol) {
		d.stats.Malformed++
		return codeProtocol, err
	}
	if err != nil {
		d.stats.OutOfResources++
		return codeResource, err
	}
	c.attach(mem)
	c.bellIn, c.bellOut = r.fds[1], r.fds[2]
	closeFD(r.fds[0])
	closeFD(r.fds[3])
	r.fds = nil
	c.theirRights, c.remote = h.rights, c.peer.nameOf(h.addr)
	c.reach = c.tryProbe(h.probe)
	d.requestID++
	return codeNone, nil
}

// takeTable maps the other side's registrations. Those of another user's process are not used.
func (c *conn) takeTable(fd int) (err error) {
	if c.peer.foreign {
		return checkMemory(fd, tableBytes, segmentSeals)
	}
	c.theirTable, err = openTable(fd)
	return err
}

// offer returns the description of our memory for the other side. It is empty if the other side belongs to
// another user.
func (c *conn) offer() (rights, probe, int, error) {
	d := c.dev
	if !c.peer.foreign {
		return c.port.rights(), d.ourProbe(), d.table.fd, nil
	}
	table, err := d.blankTable()
	return rights{}, probe{}, table, err
}

// withdrawn: the client closed before the consumer answered. The request stays known, so that the answer fails.
func (c *conn) withdrawn() {
	c.dev.unwatch(c.sock)
	c.gone = true
}

// Accept implements nic.Device.
func (d *Device) Accept(req nic.RequestID, port nic.Port) error {
	p, ok := port.(*Port)
	switch {
	case d.closed:
		return nic.ErrClosed
	case !ok || p.dev != d || p.closed:
		return fmt.Errorf("shm: accept with a port that is closed or of another device: %w", nic.ErrClosed)
	case p.conn != nil:
		return fmt.Errorf("shm: accept with a port that is connected already")
	}
	c := d.requests[req]
	if c == nil {
		return fmt.Errorf("shm: no connect request %d is waiting", req)
	}
	delete(d.requests, req)
	p.attach(c)
	a := accept{reach: c.reach, addr: d.addr}
	var table int
	var err error
	if a.rights, a.probe, table, err = c.offer(); err != nil {
		c.end(err, codeResource)
		return nil
	}
	if c.gone || sendRecord(c.sock, a.append(nil), table) != nil {
		c.end(errGone, codeNone)
		return nil
	}
	c.become(connAnswered)
	d.startTimer(c, greetTimeout)
	if err := d.watchBell(c); err != nil {
		c.end(err, codeResource)
	}
	return nil
}

// Reject implements nic.Device.
func (d *Device) Reject(req nic.RequestID, reason []byte) error {
	switch {
	case d.closed:
		return nic.ErrClosed
	case len(reason) > nic.RejectReasonMax:
		return fmt.Errorf("shm: a reason of %d bytes, at most %d may travel", len(reason), nic.RejectReasonMax)
	}
	c := d.requests[req]
	if c == nil {
		return fmt.Errorf("shm: no connect request %d is waiting", req)
	}
	if !c.gone {
		_ = sendRecord(c.sock, reject{code: codeNone, reason: reason}.append(nil))
	}
	c.release()
	return nil
}

// confirmed handles the client's last record of the set-up.
func (c *conn) confirmed(r *record) {
	d := c.dev
	if r.end {
		c.end(errGone, codeNone)
		return
	}
	kind, err := parsePrefix(r.data)
	var cf confirm
	if err == nil && (kind != kindConfirm || r.cut || len(r.fds) > 0) {
		err = malformed("confirm", len(r.data))
	}
	if err == nil {
		cf, err = parseConfirm(r.data)
	}
	if err != nil {
		d.stats.ProtocolErrors++
		c.end(err, codeProtocol)
		return
	}
	c.reached = cf.reach
	c.open()
}
