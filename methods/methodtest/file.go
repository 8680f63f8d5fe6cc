package methodtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Messages from files. They arrive as any others do. The file is special: it may end before the message, shrink meanwhile, or
// be unreadable.
var fileTests = Tests{
	{"FileSizes", false, testFileSizes},
	{"FileEnd", false, testFileEnd},
	{"FileOrder", false, testFileOrder},
	{"FileShared", false, testFileShared},
	{"FileShrinks", false, testFileShrinks},
	{"FileUnreadable", false, testFileUnreadable},
	{"FileChecked", false, testFileChecked},
	{"FileCancel", false, testFileCancel},
	{"FileCrash", false, testFileCrash},
	{"FileRefused", true, testFileRefused},
}

// filePair begins a test of two endpoints that can send from files.
func filePair(t T, s *Subject) (w *world, a, b *node) {
	t.Helper()
	w, a, b = pair(t, s)
	if !a.info().FileSends {
		t.Skipf("the method takes no bytes from files")
	}
	return w, a, b
}

// newFile makes a file that is removed after the test.
func (w *world) newFile(flags int) *os.File {
	w.Helper()
	made, err := os.CreateTemp("", "methodtest-")
	require.NoError(w, err)
	name := made.Name()
	require.NoError(w, made.Close())
	f, err := os.OpenFile(name, flags, 0o600)
	require.NoError(w, err)
	require.NoError(w, os.Remove(name))
	w.Cleanup(func() { _ = f.Close() })
	return f
}

// inFile writes a message into the world's file behind earlier ones, so that it is at any offset and between bytes of others.
func (w *world) inFile(m message) bmi.FileRange {
	w.Helper()
	if w.file == nil {
		w.file = w.newFile(os.O_RDWR)
	}
	at, err := w.file.Seek(0, io.SeekEnd)
	require.NoError(w, err)
	mem := newMemory(m.size)
	mem.write(m)
	_, err = w.file.Write(mem.slab)
	require.NoError(w, err)
	return bmi.FileRange{File: w.file, Off: at + marginSize, Len: m.size}
}

// sendFile sends m from a file.
func (l *lane) sendFile(to *node, tag bmi.Tag, m message) *op {
	l.t.Helper()
	return l.sendRange(to, tag, l.w.inFile(m))
}

func (l *lane) sendRange(to *node, tag bmi.Tag, part bmi.FileRange) *op {
	l.t.Helper()
	o := &op{mem: &memory{size: part.Len}, what: fmt.Sprintf("send from %s to %s, tag %d, %d bytes of a file from %d on",
		l.n.name, to.name, tag, part.Len, part.Off)}
	return l.must(l.post(o, l.n.addr(to), func(c *bmi.Context, to bmi.Addr, _ [][]byte, user any) (bmi.Posted, error) {
		return c.PostSendFile(to, tag, part, user)
	}))
}

func testFileSizes(t T, s *Subject) {
	w, a, b := filePair(t, s)
	sizes := append([]int{0}, a.edges()...)
	for _, size := range append(sizes, min(5_000_011, a.info().MaxExpectedSize)) {
		m := w.message(size)
		r := b.recv(a, 1, size)
		w.done(a.sendFile(b, 1, m))
		r.got(m)
	}
}

// testFileEnd sends bytes before, across and behind the end of a file.
func testFileEnd(t T, s *Subject) {
	w, a, b := filePair(t, s)
	for _, size := range a.sizesOfEachProtocol()[1:] {
		for _, has := range []int{0, 1, size / 2, size - 1} {
			m := w.message(has)
			part := w.inFile(m)
			require.NoError(t, w.file.Truncate(part.Off+int64(has)))
			part.Len = size
			r := b.recv(a, 1, size)
			w.done(a.sendRange(b, 1, part), r)
			rest := r.mem.pieces[0][has:]
			require.True(t, all(rest, 0), "%v: bytes behind the file's end are not zeros", r)
			require.Negative(t, m.wrongAt(r.mem.pieces), "%v: bytes before the file's end are wrong", r)
		}
		part := bmi.FileRange{File: w.file, Off: 1 << 40, Len: size}
		r := b.recv(a, 1, size)
		w.done(a.sendRange(b, 1, part), r)
		require.True(t, all(r.mem.pieces[0], 0), "%v: bytes far behind the file's end are not zeros", r)
	}
}

// testFileOrder sends from files and from memory alternately, with one tag.
func testFileOrder(t T, s *Subject) {
	w, a, b := filePair(t, s)
	sizes := a.sizesOfEachProtocol()
	const count = 60
	var ms []message
	var recvs, sends []*op
	for i := range count {
		ms = append(ms, w.message(sizes[i*7%len(sizes)]))
		recvs = append(recvs, b.recv(a, 1, ms[i].size))
	}
	for i, m := range ms {
		if i%3 == 1 {
			sends = append(sends, a.send(b, 1, m))
		} else {
			sends = append(sends, a.sendFile(b, 1, m))
		}
	}
	w.done(sends...)
	for i, r := range recvs {
		r.got(ms[i])
	}
}

// testFileShared receives bytes of files and other messages into memory from AllocShared.
func testFileShared(t T, s *Subject) {
	w, a, b := filePair(t, s)
	sizes := a.sizesOfEachProtocol()
	for _, most := range []int{64 << 10, slices.Max(sizes) + 100_000} {
		buf, err := b.ep.AllocShared(b.addr(a), most)
		require.NoError(t, err)
		require.Len(t, buf, most)
		mem := memoryOf(buf)
		for i, size := range sizes {
			if size > most {
				continue
			}
			at := (most - size) * i / len(sizes)
			part := memoryOf(buf[at : at+size : at+size])
			mem.parts = append(mem.parts, part)
			m := w.message(size)
			r := b.recvMemory(a, 1, part)
			if i%3 == 2 {
				w.done(a.send(b, 1, m))
			} else {
				w.done(a.sendFile(b, 1, m))
			}
			r.got(m)
		}
		b.free(a, mem)
	}
}

// testFileShrinks truncates a file while it is being sent: the message keeps its length, and each byte of the removed part has
// its old value or is zero.
func testFileShrinks(t T, s *Subject) {
	w, a, b := filePair(t, s)
	size := slices.Max(a.largeSizes(100_000, 1<<20, 8<<20))
	for round := range 4 {
		m := w.message(size)
		part := w.inFile(m)
		left := size / 5 * round
		send := a.sendRange(b, 1, part)
		require.NoError(t, w.file.Truncate(part.Off+int64(left)))
		r := b.recv(a, 1, size)
		w.done(send, r)
		require.Equal(t, size, r.c.Size)
		require.Negative(t, message{id: m.id, size: left}.wrongAt(r.mem.pieces), "%v: the part that stayed", r)
		whole := newMemory(size)
		whole.write(m)
		for i, v := range r.mem.pieces[0] {
			if v != 0 && v != whole.pieces[0][i] {
				require.Fail(t, "a byte that never was in the file", "%v: byte %d is %#x", r, i, v)
			}
		}
	}
	w.exchange(a, b, 1, w.message(100))
}

// testFileUnreadable: bytes of an unreadable file must not be received as a message.
func testFileUnreadable(t T, s *Subject) {
	w, a, b := filePair(t, s)
	for _, size := range a.sizesOfEachProtocol()[1:] {
		w.recovered(a, b)
		f := w.newFile(os.O_WRONLY)
		require.NoError(t, f.Truncate(int64(size)))
		r := b.recv(a, 1, size)
		send := a.sendRange(b, 1, bmi.FileRange{File: f, Len: size})
		w.failed([]*op{send}, bmi.ErrPeerFailed)
		w.failed([]*op{r})
	}
	w.recovered(a, b)
}

// testFileChecked: each byte that is sent was checked, with its offset in the file, and bytes that fail the check are not
// received as a message.
func testFileChecked(t T, s *Subject) {
	w, a, b := filePair(t, s)
	for _, size := range a.sizesOfEachProtocol()[1:] {
		w.recovered(a, b)
		m := w.message(size)
		part := w.inFile(m)
		checked := make([]bool, size)
		part.Check = func(piece []byte, off int64) error {
			at := int(off - part.Off)
			require.True(t, at >= 0 && at+len(piece) <= size, "%d bytes at %d of the file, which are not of the range", len(piece), off)
			want := make([]byte, len(piece))
			_, err := part.File.ReadAt(want, off)
			require.NoError(t, err)
			require.Equal(t, want, piece)
			for i := range piece {
				checked[at+i] = true
			}
			return nil
		}
		r := b.recv(a, 1, size)
		w.done(a.sendRange(b, 1, part))
		r.got(m)
		require.NotContains(t, checked, false, "bytes that nobody checked")

		part.Check = func([]byte, int64) error { return errUnchecked }
		r = b.recv(a, 1, size)
		send := a.sendRange(b, 1, part)
		w.failed([]*op{send}, bmi.ErrPeerFailed)
		w.failed([]*op{r})
	}
	w.recovered(a, b)
}

// errUnchecked is the error of bytes that fail the check.
var errUnchecked = errors.New("methodtest: not what was written")

// testFileCancel cancels before there is a connection, before the receive is posted, and during the transfer.
func testFileCancel(t T, s *Subject) {
	w, a, b := filePair(t, s)
	large := slices.Max(a.largeSizes(100_000, 1<<20, 4<<20))
	nobody := w.nobody(a)
	send := a.sendFile(nobody, 1, w.message(large))
	if send.pending {
		a.cancel(send)
	}
	w.failed([]*op{send}, bmi.ErrCancelled, bmi.ErrUnreachable)
	for round := range 8 {
		w.recovered(a, b)
		m := w.message(large)
		var r *op
		if round%2 == 0 {
			r = b.recv(a, 1, m.size)
		}
		send := a.sendFile(b, 1, m)
		for range round / 2 % 4 {
			a.collect(0)
			b.collect(0)
			w.step()
		}
		if send.pending {
			a.cancel(send)
		}
		w.cancelled(send)
		if r == nil {
			r = b.recv(a, 1, m.size)
		}
		if send.c.Err != nil {
			w.settle(r)
		}
		if w.wait(r); r.c.Err == nil {
			r.got(m)
		} else {
			w.strand(a, b, 1, m.size)
		}
	}
	w.recovered(a, b)
}

func testFileCrash(t T, s *Subject) {
	w, a, b := filePair(t, s)
	w.crashes()
	size := slices.Max(a.largeSizes(100_000, 1<<20, 4<<20))
	for round := range 6 {
		w.exchange(a, b, 1, w.message(10))
		send := a.sendFile(b, 2, w.message(size))
		if round%2 == 0 {
			b.recv(a, 2, size)
		}
		for range round / 2 {
			a.collect(0)
			w.step()
		}
		w.crash(b)
		w.wait(send)
		fresh := w.reopen(b)
		w.returned(a, b, fresh)
		w.recovered(a, fresh)
		b = fresh
	}
}

// testFileRefused tests posts of invalid ranges, and of any range if the method cannot send from files.
func testFileRefused(t T, s *Subject) {
	w, a, b := pair(t, s)
	addr := a.addr(b)
	regular := w.newFile(os.O_RDWR)
	closed := w.newFile(os.O_RDWR)
	require.NoError(t, closed.Close())
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	w.Cleanup(func() { _ = null.Close() })
	can, err := a.ep.FileSends(addr)
	require.NoError(t, err)
	require.Equal(t, a.info().FileSends, can)
	if !can {
		_, err = a.ctx.PostSendFile(addr, 1, bmi.FileRange{File: regular, Len: 1}, nil)
		require.ErrorIs(t, err, bmi.ErrNotSupported)
		w.exchange(a, b, 1, w.message(100))
		return
	}
	for what, c := range map[string]struct {
		part bmi.FileRange
		want error
	}{
		"no file":         {bmi.FileRange{Len: 1}, bmi.ErrInvalid},
		"negative offset": {bmi.FileRange{File: regular, Off: -1, Len: 1}, bmi.ErrInvalid},
		"negative length": {bmi.FileRange{File: regular, Len: -1}, bmi.ErrInvalid},
		"past all files":  {bmi.FileRange{File: regular, Off: 1<<63 - 10, Len: 11}, bmi.ErrInvalid},
		"closed":          {bmi.FileRange{File: closed, Len: 1}, bmi.ErrInvalid},
		"a device":        {bmi.FileRange{File: null, Len: 1}, bmi.ErrInvalid},
		"too long":        {bmi.FileRange{File: regular, Len: a.info().MaxExpectedSize + 1}, bmi.ErrTooLarge},
	} {
		_, err = a.ctx.PostSendFile(addr, 1, c.part, nil)
		assert.ErrorIs(t, err, c.want, what)
	}
	_, err = a.ctx.PostSendFile(bmi.Addr{}, 1, bmi.FileRange{File: regular, Len: 1}, nil)
	assert.ErrorIs(t, err, bmi.ErrInvalid, "to nobody")
	w.exchange(a, b, 1, w.message(100))
}
