package wire

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", LineBytesMax-1) + "\n"
	r := bufio.NewReaderSize(iotest.HalfReader(strings.NewReader("cmd=a\n"+long+"\nrest")), 16)
	for _, want := range []string{"cmd=a\n", long, "\n"} {
		got, err := ReadLine(r, []byte("before"))
		require.NoError(t, err)
		assert.Equal(t, "before"+want, string(got))
	}
	_, err := ReadLine(r, nil)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = ReadLine(r, nil)
	assert.ErrorIs(t, err, io.EOF)
	_, err = ReadLine(bufio.NewReader(strings.NewReader("x"+long)), nil)
	assert.ErrorIs(t, err, ErrTooLong)
}

func TestReadFrame(t *testing.T) {
	want := New("kvs-get-response", "rc", "0", "found", "TRUE", "value", "x")
	frame, err := AppendFrame(nil, want)
	require.NoError(t, err)
	got, err := ReadFrame(iotest.OneByteReader(strings.NewReader(string(frame))))
	require.NoError(t, err)
	assert.Equal(t, want, got)
	for n := range frame {
		_, err := ReadFrame(strings.NewReader(string(frame[:n])))
		assert.Error(t, err, "%q", frame[:n])
	}
	_, err = ReadFrame(strings.NewReader("abcdefcmd=x;"))
	assert.ErrorIs(t, err, ErrMalformed)
}
