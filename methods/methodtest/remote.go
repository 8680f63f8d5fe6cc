package methodtest

import (
	"bytes"
	"errors"
	"math"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Memory that a peer reads and writes without its owner's help.
var remoteTests = Tests{
	{"RemoteAccess", false, testRemoteAccess},
	{"RemoteBounds", false, testRemoteBounds},
	{"RemoteOwnKeys", false, testRemoteOwnKeys},
	{"RemoteWithdrawn", false, testRemoteWithdrawn},
	{"RemoteEndsWithConnection", false, testRemoteEndsWithConnection},
}

// A remote is memory that its owner has exposed to a user.
type remote struct {
	w           *world
	owner, user *node
	mem         *memory
	opened      *bmi.ExposedMemory
	key         bmi.RemoteKey
}

// remotePair opens two endpoints, connects them, and lets the first expose memory to the second.
func remotePair(t T, s *Subject, size int) (w *world, r *remote) {
	t.Helper()
	w, owner, user := pair(t, s)
	if !user.info().RemoteAccess {
		t.Skipf("the method has no remote access")
	}
	w.exchange(user, owner, 1, w.message(10))
	if _, err := owner.ep.Expose(owner.addr(user), make([]byte, 1)); errors.Is(err, bmi.ErrNotSupported) {
		t.Skipf("the peers cannot reach each other's memory here: %v", err)
	}
	return w, w.expose(owner, user, size)
}

func (w *world) expose(owner, user *node, size int) *remote {
	w.Helper()
	r := &remote{w: w, owner: owner, user: user, mem: newMemory(size)}
	var err error
	r.opened, err = owner.ep.Expose(owner.addr(user), r.mem.pieces[0])
	require.NoError(w, err, "%s exposes %d bytes to %s", owner.name, size, user.name)
	w.Cleanup(r.opened.Withdraw)
	r.key = r.opened.Key()
	return r
}

// access moves bytes for the user, or another node. It tries again while other messages are in the way.
func (r *remote) access(by *node, write bool, off uint64, mem []byte) (err error) {
	r.w.Helper()
	move := by.ep.RemoteRead
	if write {
		move = by.ep.RemoteWrite
	}
	by.untilDone("access memory of "+r.owner.name, func() bool {
		err = move(by.addr(r.owner), r.key, off, mem)
		return !errors.Is(err, bmi.ErrAgain)
	})
	return err
}

// whole requires that the memory has the bytes of a message, and nothing around it has changed.
func (r *remote) whole(m message, why string) {
	r.w.Helper()
	require.Negative(r.w, m.wrongAt(r.mem.pieces), "%s: a byte of the memory is wrong", why)
	require.Empty(r.w, r.mem.touched(), why)
}

// refused requires that neither kind of access succeeds.
func (r *remote) refused(by *node, off uint64, size int, why string) {
	r.w.Helper()
	for _, write := range []bool{true, false} {
		assert.Error(r.w, r.access(by, write, off, make([]byte, size)), "%s: %d bytes from %d on, write %v", why, size, off, write)
	}
}

func testRemoteAccess(t T, s *Subject) {
	w, r := remotePair(t, s, 600_011)
	size := r.mem.size
	m := w.message(size)
	from := newMemory(size)
	from.write(m)
	require.NoError(t, r.access(r.user, true, 0, from.pieces[0]))
	r.whole(m, "written at once")
	for _, part := range [][2]int{{0, 1}, {size - 1, 1}, {1, 7}, {63, 66}, {4095, 4098}, {8191, 70_000}, {size, 0}, {0, size}} {
		off, n := part[0], part[1]
		to := newMemory(n)
		require.NoError(t, r.access(r.user, false, uint64(off), to.pieces[0]))
		require.True(t, bytes.Equal(from.pieces[0][off:off+n], to.pieces[0]), "%d bytes read from %d on are wrong", n, off)
		require.Empty(t, to.touched(), "%d bytes read from %d on", n, off)
		m = w.message(size)
		from.write(m)
		r.mem.write(m)
		clear(r.mem.pieces[0][off : off+n])
		require.NoError(t, r.access(r.user, true, uint64(off), from.pieces[0][off:off+n]))
		r.whole(m, "written in parts")
	}
}

// testRemoteBounds: no access reaches bytes before or behind the memory.
func testRemoteBounds(t T, s *Subject) {
	w, r := remotePair(t, s, 5000)
	m := w.message(r.mem.size)
	r.mem.write(m)
	for _, off := range []uint64{5000, 5001, 1 << 20, 1 << 32, 1 << 63, math.MaxUint64 - 5000, math.MaxUint64} {
		r.refused(r.user, off, 1, "outside")
	}
	r.whole(m, "outside")
	r.refused(r.user, 4999, 2, "across the end")
	r.refused(r.user, 1, 5000, "across the end")
	r.refused(r.user, math.MaxUint64, 2, "across the beginning")
	require.Empty(t, r.mem.touched())
	require.NoError(t, r.access(r.user, true, 0, make([]byte, 5000)), "good accesses go on")
}

// testRemoteOwnKeys: a key is for the peer that it was made for. One that was made up reaches nothing that the peer could not reach
// anyway.
func testRemoteOwnKeys(t T, s *Subject) {
	w, r := remotePair(t, s, 100)
	other := w.open("other")
	w.exchange(other, r.owner, 1, w.message(10))
	own := w.expose(r.owner, other, 100)
	m := w.message(100)
	r.mem.write(m)
	own.mem.write(m)
	r.refused(other, 0, 8, "the key of another peer")
	own.refused(r.user, 0, 8, "the key of another peer")
	r.whole(m, "after all that")
	for i := range r.key {
		forged := *r
		forged.key[i] ^= 0x40
		_ = forged.access(r.user, true, 0, make([]byte, 8)) // it may be good: an offset may be a part of a key
	}
	require.Empty(t, r.mem.touched(), "forged keys")
	own.whole(m, "forged keys")
	require.NoError(t, own.access(other, true, 0, make([]byte, 100)), "the other peer's key is good")
}

func testRemoteWithdrawn(t T, s *Subject) {
	w, r := remotePair(t, s, 100)
	stays := w.expose(r.owner, r.user, 100)
	m := w.message(100)
	r.mem.write(m)
	r.opened.Withdraw()
	r.opened.Withdraw() // does nothing
	r.refused(r.user, 0, 8, "withdrawn")
	r.whole(m, "withdrawn")
	require.NoError(t, stays.access(r.user, true, 0, make([]byte, 100)), "other memory stays")
	w.exchange(r.user, r.owner, 1, w.message(10))
}

// testRemoteEndsWithConnection: a key is of no use over a new connection.
func testRemoteEndsWithConnection(t T, s *Subject) {
	w, r := remotePair(t, s, 100)
	m := w.message(100)
	r.mem.write(m)
	r.user.drop(r.owner)
	w.renewed(r.user, r.owner)
	r.refused(r.user, 0, 8, "a key of the connection before")
	r.whole(m, "over the new connection")
	r.opened.Withdraw()
	again := w.expose(r.owner, r.user, 100)
	require.NoError(t, again.access(r.user, true, 0, make([]byte, 100)), "memory exposed again")
}
