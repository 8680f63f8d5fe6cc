package stacktest

import (
	"errors"
	"os"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var fileTests = []test{
	{"bytes of files", bytesOfFiles},
	{"a file that cannot be read", unreadableFile},
}

// fileSender is the stack of an end, if it can send from files.
func (e *end) fileSender() stack.FileSender {
	s, ok := e.n.stack.(stack.FileSender)
	if !ok {
		e.n.w.t.Skip("the stack takes no bytes from files")
	}
	return s
}

func tempFile(t T, flags int) *os.File {
	made, err := os.CreateTemp("", "stacktest-")
	require.NoError(t, err)
	require.NoError(t, made.Close())
	f, err := os.OpenFile(made.Name(), flags, 0)
	require.NoError(t, err)
	require.NoError(t, os.Remove(made.Name()))
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// bytesOfFiles sends heads, each followed by bytes of a file up to its end, through a stream
// that fills up.
func bytesOfFiles(t T, w *world) {
	a, b := w.pair()
	s := a.fileSender()
	f := tempFile(t, os.O_RDWR)
	for _, size := range []int{1, 4095, 4096, 70_000, 3 << 20} {
		for _, head := range []int{0, 24, 10_000} {
			const before = 4097
			data := make([]byte, head+size)
			fill(data, 0)
			require.NoError(t, f.Truncate(0))
			_, err := f.WriteAt(data[head:], before)
			require.NoError(t, err)
			sent, ended, got, in := 0, false, 0, make([]byte, 100_000)
			w.until("sent up to the file's end, and received", func() bool {
				if a.writable && !ended {
					front := data[min(sent, head):head]
					n, err := s.SendFile(a.stream, [][]byte{front[:len(front)/2], front[len(front)/2:]},
						stack.FileRange{File: f, Off: before + int64(max(sent-head, 0)), Len: size + 1})
					if errors.Is(err, stack.ErrAgain) {
						a.writable = false
					} else {
						require.NoError(t, err)
						ended = n == len(front)
					}
					sent += n
					require.LessOrEqual(t, sent, len(data))
				}
				n, err := b.recv1(in)
				require.NoError(t, err)
				verify(t, in[:n], got)
				got += n
				return ended && got == sent
			})
			require.Equal(t, len(data), got)
		}
	}
	w.moves(b, a, 1000)
}

// unreadableFile sends a head before a file that cannot be read: the head is sent, and the
// stream still works.
func unreadableFile(t T, w *world) {
	a, b := w.pair()
	s, f := a.fileSender(), tempFile(t, os.O_WRONLY)
	require.NoError(t, f.Truncate(100))
	head := make([]byte, 10)
	fill(head, 0)
	var err error
	sent := 0
	w.until("refused", func() bool {
		if !a.writable {
			return false
		}
		var n int
		n, err = s.SendFile(a.stream, [][]byte{head[sent:]}, stack.FileRange{File: f, Len: 100})
		sent += n
		a.writable = !errors.Is(err, stack.ErrAgain)
		return err != nil && a.writable
	})
	require.ErrorIs(t, err, stack.ErrFile)
	require.Equal(t, len(head), sent)
	w.gives(a, len(head), 1000)
	w.takes(b, 0, len(head)+1000)
}
