package shm

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// serveUntil answers all clients, as childEcho does, until done; it sleeps when there is nothing to do.
func serveUntil(t *testing.T, d *Device, seen func(*nic.Event), done func() bool) {
	t.Helper()
	window := make([]byte, 4096)
	h, err := d.Register(window, nic.AccessRemoteRead|nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	where := fmt.Sprintf("%d %d", remoteOf(window, 0, h).Addr, h)
	var out [16]nic.Event
	for start := time.Now(); !done(); {
		require.Less(t, time.Since(start), patience)
		n := d.Poll(out[:])
		for i := range out[:n] {
			if seen != nil {
				seen(&out[i])
			}
			require.NoError(t, echoEvent(d, &out[i], where))
		}
		if n == 0 && d.Arm() {
			d.Sleep(5 * time.Millisecond)
			d.Disarm()
		}
	}
	require.NoError(t, d.Deregister(h), "nobody was in this memory, whatever they say")
}

// lines collects a child's output while the server runs.
func (c *child) lines(n int) func() ([]string, bool) {
	got := make(chan string, n)
	go func() {
		for range n {
			s, err := c.out.ReadString('\n')
			if err != nil {
				s = "end: " + c.err.String()
			}
			got <- s
		}
	}()
	var all []string
	return func() ([]string, bool) {
		select {
		case s := <-got:
			all = append(all, s)
		default:
		}
		return all, len(all) == n
	}
}

// TestAnotherUsersProcess: a process of another user connects, is known by its user, and exchanges messages with a server that
// sleeps between them. Neither side can access the other's memory.
func TestAnotherUsersProcess(t *testing.T) {
	c := newCommons(t)
	d := c.server(t, "server")
	guest := c.launch(t, "guest", strangerID)
	said := guest.lines(4)
	var asked *nic.ConnEvent
	var port *Port
	serveUntil(t, d, func(e *nic.Event) {
		switch e.Kind {
		case nic.EventConnectRequest:
			asked = e.Conn
		case nic.EventConnected:
			port = e.Cookie.(*Port)
			require.Equal(t, "uid:31337", port.AuthenticatedName())
			require.False(t, port.RDMAUsable())
			require.Nil(t, port.conn.theirTable)
		}
	}, func() bool {
		_, all := said()
		return all
	})
	text, _ := said()
	require.Equal(t, []string{"ready\n", "uid:0 false\n", "true true\n", "echoed\n"}, text)
	require.Regexp(t, `^~uid31337\.~\d+\.1$`, asked.Remote)
	require.True(t, asked.OtherUser)
	require.Equal(t, &nic.User{UID: strangerID, Groups: []uint32{strangerID, strangeGrp}}, asked.User)
	st := d.Stats()
	require.Equal(t, uint64(1), st.OtherUsers)
	require.Zero(t, st.RDMACalls)
	require.Zero(t, st.ProtocolErrors)

	guest.kill()
	f := newFixture(t, d)
	require.ErrorIs(t, f.next(d, nic.EventDisconnected).Conn.Err, nic.ErrPeerDied)
	require.Empty(t, port.AuthenticatedName())
	require.Zero(t, d.Stats().Conns)
	require.Empty(t, d.crowd.users)
}

// TestStrangersLeaveNamesAlone: another user can neither remove, replace nor take a name, nor prevent the owner from making
// one.
func TestStrangersLeaveNamesAlone(t *testing.T) {
	c := newCommons(t)
	d := c.server(t, "server")
	vandal := c.start(t, "vandal", strangerID)
	second := c.server(t, "second") // although the vandal has locked what it could
	require.FileExists(t, filepath.Join(c.opened(0), "server"))
	require.NoError(t, second.Close())
	vandal.finish(t)

	_, err := Provider{Dir: c.own(0), OpenDir: c.open, Users: nic.Users{Others: true}}.Open(nic.Config{Listen: "server"})
	require.ErrorIs(t, err, nic.ErrNameTaken)
	a := c.device(t, Provider{Dir: c.own(0), OpenDir: c.open}, "")
	f := newFixture(t, a, d)
	f.connect(openPort(t, a, reliable()), openPort(t, d, reliable())) // the owner finds it, too
	require.NoError(t, d.Close())
	require.NoFileExists(t, filepath.Join(c.opened(0), "server"))
	require.Zero(t, d.Stats().OtherUsers)
}

// TestOpenFoldersMustBeSafe: no server uses a folder that other users could change, and the error says what to do.
func TestOpenFoldersMustBeSafe(t *testing.T) {
	c := newCommons(t)
	refused := func(says string) {
		t.Helper()
		_, err := Provider{Dir: c.own(0), OpenDir: c.open, Users: nic.Users{Others: true}}.Open(nic.Config{Listen: "server"})
		require.ErrorIs(t, err, os.ErrPermission)
		require.ErrorContains(t, err, says)
	}
	require.NoError(t, os.Chown(c.opened(0), strangerID, strangerID))
	refused("must belong to uid 0")
	require.NoError(t, os.Chown(c.opened(0), 0, 0))
	require.NoError(t, os.Chmod(c.opened(0), 0o777))
	refused("writable by nobody else")
	require.NoError(t, os.Chmod(c.opened(0), 0o700))
	refused("chmod it to 755")
	require.NoError(t, os.Chmod(c.opened(0), 0o755))
	require.NoError(t, os.Chmod(c.open, 0o1777))
	refused(OpenDirEnv)
	require.NoError(t, os.Chmod(c.open, 0o755))
	require.NoError(t, os.Chown(c.open, strangerID, strangerID))
	refused(OpenDirEnv)
	require.NoError(t, os.Chown(c.open, 0, 0))

	require.NoError(t, os.RemoveAll(c.open))
	was := unix.Umask(0o077)
	d := c.server(t, "server")
	unix.Umask(was)
	for path, mode := range map[string]os.FileMode{c.open: 0o755, c.opened(0): 0o755, filepath.Join(c.opened(0), "server"): 0o666,
		filepath.Join(c.opened(0), lockName): 0o600} {
		st, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, st.Mode().Perm(), path)
	}
	require.NoError(t, d.Close())

	_, err := Provider{Dir: c.own(0), OpenDir: "relative", Users: nic.Users{Others: true}}.Open(nic.Config{Listen: "server"})
	require.ErrorContains(t, err, OpenDirEnv)
}

// TestWhomClientsTrust: a client connects to endpoints of its own user, of root, and of trusted users. Names made by others are
// ignored or refused.
func TestWhomClientsTrust(t *testing.T) {
	c := newCommons(t)
	server := c.start(t, "open", strangerID)
	connect := func(trust ...uint32) error {
		d := c.device(t, Provider{Dir: c.own(0), OpenDir: c.open, Users: nic.Users{Trust: trust}}, "")
		f := newFixture(t, d)
		require.NoError(t, openPort(t, d, reliable()).Connect("server", []byte("private"), 0))
		for start := time.Now(); time.Since(start) < patience; runtime.Gosched() {
			f.poll()
			for _, e := range f.seen[d] {
				switch e.Kind {
				case nic.EventConnected:
					return nil
				case nic.EventConnectFailed:
					return e.Conn.Err
				}
			}
		}
		require.FailNow(t, "no event")
		return nil
	}
	err := connect()
	require.ErrorIs(t, err, nic.ErrUnreachable)
	require.ErrorContains(t, err, TrustEnv)
	require.ErrorIs(t, connect(otherID), nic.ErrUnreachable)
	require.NoError(t, connect(otherID, strangerID))

	// A folder that belongs to the wrong user, and a listener that does.
	require.NoError(t, os.Chown(c.opened(strangerID), otherID, otherID))
	err = connect(strangerID)
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, "should belong to uid 31337")
	require.NoError(t, os.Rename(filepath.Join(c.opened(strangerID), "server"), filepath.Join(c.opened(0), "server")))
	err = connect()
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, TrustEnv+"=31337")
	require.NoError(t, connect(strangerID))
	server.kill()
}

// TestTrustIsParsed: numbers and names of users.
func TestTrustIsParsed(t *testing.T) {
	uids, err := parseTrust(" 31337, root,,0 ")
	require.NoError(t, err)
	require.Equal(t, []uint32{31337, 0, 0}, uids)
	for _, bad := range []string{"no-such-user-here", "-1", "4294967296", "1 2"} {
		_, err := parseTrust(bad)
		require.ErrorContains(t, err, TrustEnv)
	}
	t.Setenv(TrustEnv, "no-such-user-here")
	_, err = Provider{Dir: t.TempDir()}.Open(nic.Config{})
	require.ErrorContains(t, err, "no-such-user-here")
	t.Setenv(TrustEnv, "")
	t.Setenv(OtherUsersEnv, "yes")
	_, err = Provider{Dir: t.TempDir()}.Open(nic.Config{})
	require.ErrorContains(t, err, "set it to 1")
}

// TestGreedyUser: a user that opens as many connections as it can leaves as many to others, and root is not counted.
func TestGreedyUser(t *testing.T) {
	c := newCommons(t)
	d := c.server(t, "server")
	d.crowd.most = 64
	greedy := c.launch(t, "greedy", strangerID)
	said := greedy.lines(2)
	serveUntil(t, d, nil, func() bool {
		_, all := said()
		return all
	})
	text, _ := said()
	require.Equal(t, "32 true\n", text[1])
	require.NotZero(t, d.Stats().UserLimit)

	guest := c.launch(t, "guest", otherID)
	said = guest.lines(4)
	serveUntil(t, d, nil, func() bool {
		_, all := said()
		return all
	})
	text, _ = said()
	require.Equal(t, "echoed\n", text[3])
	a := c.device(t, Provider{Dir: c.own(0), OpenDir: c.open}, "")
	f := newFixture(t, a, d)
	f.connect(openPort(t, a, reliable()), openPort(t, d, reliable()))

	greedy.kill()
	for d.crowd.users[strangerID] != nil {
		f.next(d, nic.EventDisconnected)
	}
}

// TestSilentUser: a user that fills the room for silent sockets loses its own.
func TestSilentUser(t *testing.T) {
	c := newCommons(t)
	d := c.server(t, "server")
	silent := c.launch(t, "silent", strangerID)
	said := silent.lines(1)
	serveUntil(t, d, nil, func() bool {
		_, all := said()
		return all
	})
	guest := c.launch(t, "guest", otherID)
	said = guest.lines(4)
	serveUntil(t, d, nil, func() bool {
		_, all := said()
		return all
	})
	text, _ := said()
	require.Equal(t, "echoed\n", text[3])
	require.NoError(t, silent.stdin.Close())
	require.NotZero(t, d.Stats().HalfOpen+d.Stats().Probed)
}

// TestSilentSocketsOfOthersAreDroppedFirst: the user with most of them loses the oldest.
func TestSilentSocketsOfOthersAreDroppedFirst(t *testing.T) {
	c := newCommons(t)
	d := c.server(t, "d")
	d.clock = func() time.Duration { return 0 } // no socket is dropped for its age
	f := newFixture(t, d)
	ours := dialRaw(t, d)
	for f.poll(); d.greetings < 1; f.poll() {
		d.budget = 0
	}
	for range 2 * greetingsMax {
		dialRaw(t, d, strangerID)
		d.budget = 0
		f.poll()
	}
	require.Equal(t, 1, d.crowd.ours.greetings)
	_, ended := recvRecord(ours)
	require.False(t, ended, "ours was the oldest, and the stranger has more")
	require.LessOrEqual(t, d.greetings, greetingsMax)
}

// TestRequestsOfOneUser: waiting requests are shared among users, too.
func TestRequestsOfOneUser(t *testing.T) {
	c := newCommons(t)
	d := c.server(t, "d")
	f := newFixture(t, d)
	ok := newParts(t)
	ask := func(uid uint32) {
		fd := dialRaw(t, d, uid)
		require.NoError(t, sendRecord(fd, hello{addr: "~1.1"}.append(nil), ok.segment, ok.bell1, ok.bell2, ok.table))
	}
	for range requestsMax / 2 {
		ask(strangerID)
		f.next(d, nic.EventConnectRequest)
	}
	fd := dialRaw(t, d, strangerID)
	require.NoError(t, sendRecord(fd, hello{addr: "~1.1"}.append(nil), ok.segment, ok.bell1, ok.bell2, ok.table))
	r := f.answerTo(fd)
	rej, err := parseReject(r.data)
	require.NoError(t, err)
	require.Equal(t, codeBusy, rej.code)
	require.Equal(t, uint64(1), d.Stats().UserLimit)
	for _, uid := range []uint32{otherID, 0} {
		ask(uid)
		f.next(d, nic.EventConnectRequest)
	}
}

// TestDoorbellThatWouldBlock: a peer fills the counter of its doorbell and makes writes to it block. The device of another user
// does not write to it.
func TestDoorbellThatWouldBlock(t *testing.T) {
	c := newCommons(t)
	d, bad := c.server(t, "d"), c.stranger(t, strangerID, "")
	f := newFixture(t, d, bad)
	pd, pb := openPort(t, d, reliable()), openPort(t, bad, reliable())
	f.connect(pb, pd)
	require.NoError(t, pb.PostRecv(recvLoan()))
	flags, err := unix.FcntlInt(uintptr(pb.conn.bellIn), unix.F_GETFL, 0)
	require.NoError(t, err)
	_, err = unix.FcntlInt(uintptr(pb.conn.bellIn), unix.F_SETFL, flags&^unix.O_NONBLOCK)
	require.NoError(t, err)
	full := [8]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	_, err = unix.Write(pb.conn.bellIn, full[:])
	require.NoError(t, err)
	pb.conn.wantBell()
	mustSend(t, pd, []byte("x"))
	require.Equal(t, uint64(1), d.Stats().DoorbellsRung)
	f.next(bad, nic.EventRecv)
	for range 3 {
		bad.budget = 0
		f.poll()
	}
	require.NotZero(t, bad.Stats().DoorbellsHeard)

	require.NoError(t, pd.PostRecv(recvLoan()))
	d.makeCold(pd.conn)
	require.True(t, d.Arm())
	mustSend(t, pb, []byte("y"))
	d.Sleep(patience)
	d.Disarm()
	f.next(d, nic.EventRecv)
	require.NotZero(t, d.Stats().DoorbellsHeard)
}

// TestHazardWordsOfOthersCountForNothing: a peer of another user claims to use some memory, which delays nothing, and does not
// answer at the end of the connection, which does not keep the connection.
func TestHazardWordsOfOthersCountForNothing(t *testing.T) {
	c := newCommons(t)
	d, bad := c.server(t, "d"), c.stranger(t, strangerID, "")
	f := newFixture(t, d, bad)
	pd, pb := openPort(t, d, reliable()), openPort(t, bad, reliable())
	f.connect(pb, pd)
	mem := make([]byte, 64)
	h, err := d.Register(mem, nic.AccessRemoteRead, 7)
	require.NoError(t, err)
	wordAtomic(pb.conn.ourHazard, uint64(h))
	require.NoError(t, d.Deregister(h))
	f.devs = f.devs[:1] // the peer does nothing any more
	pd.Disconnect()
	f.next(d, nic.EventDisconnected)
	require.Zero(t, d.Stats().Conns)
	require.Empty(t, d.crowd.users)
}

// TestUnknownUsers: an id that stands for all users outside the user namespace identifies nobody.
func TestUnknownUsers(t *testing.T) {
	s := idSpace{user: 65534, group: 65534}
	require.True(t, s.unknownUser(65534) && s.unknownGroup(65534))
	require.False(t, s.unknownUser(0) || s.unknownGroup(1))
	s.wholeUsers, s.wholeGrps = true, true
	require.False(t, s.unknownUser(65534) || s.unknownGroup(65534))

	file := filepath.Join(t.TempDir(), "map")
	require.True(t, mapsAll(file))
	for text, all := range map[string]bool{"         0          0 4294967295\n": true, "0 1000 1\n": false, "": false, "0 0 65536\n65536 0 1\n": false} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Equal(t, all, mapsAll(file), text)
	}

	d := openDevice(t, t.TempDir(), "d")
	d.ids, d.forOthers = idSpace{user: d.euid}, true
	f := newFixture(t, d)
	r := f.answerTo(dialRaw(t, d))
	require.True(t, r.end)
	require.Equal(t, uint64(1), d.Stats().Strangers)
}

// TestOthersAreToldNothing: the table and the greetings for a stranger reveal nothing of our memory.
func TestOthersAreToldNothing(t *testing.T) {
	c := newCommons(t)
	d := c.server(t, "d")
	f := newFixture(t, d)
	mem := make([]byte, 64)
	_, err := d.Register(mem, nic.AccessRemoteRead, 7)
	require.NoError(t, err)
	ok := newParts(t)
	fd := dialRaw(t, d, strangerID)
	require.NoError(t, sendRecord(fd, hello{addr: "~1.1"}.append(nil), ok.segment, ok.bell1, ok.bell2, ok.table))
	require.NoError(t, d.Accept(f.next(d, nic.EventConnectRequest).Conn.Request, openPort(t, d, reliable())))
	r := f.answerTo(fd)
	defer r.closeFDs()
	a, err := parseAccept(r.data)
	require.NoError(t, err)
	require.Equal(t, accept{addr: "d"}, a)
	table, err := openTable(r.fds[0])
	require.NoError(t, err)
	defer unmap(table)
	require.Equal(t, make([]byte, tableBytes), table)

	// Nor does a client reveal anything to a server of another user.
	bad := c.stranger(t, strangerID, "")
	asUser(t, strangerID, func() { require.NoError(t, openPort(t, bad, reliable()).Connect("d", nil, 0)) })
	f.next(d, nic.EventConnectRequest)
	for i := range d.conns {
		if c := d.conns[i].conn; c != nil && c.state == connRequested {
			require.Equal(t, rights{}, c.theirRights)
			require.False(t, c.reach)
		}
	}
}
