package cli

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/cli/stream"
)

// testFile is a file of n bytes of a pattern.
func testFile(t *testing.T, n int) (name string, data []byte) {
	t.Helper()
	data = bytes.Repeat([]byte("viaduct "), n/8+1)[:n]
	name = filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	return name, data
}

func TestSendAndRecvAFile(t *testing.T) {
	file, data := testFile(t, 3_000_001)
	out := filepath.Join(t.TempDir(), "out")
	address := newAddress()
	recv := start(t, nil, "recv", address, "-o", out)
	send := bmiRun(t, "send", address, file)
	require.Equal(t, ExitOK, send.code, send.err.String())
	require.Equal(t, ExitOK, recv.wait(t).code, recv.err.String())
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	for r, verb := range map[*run]string{send: "sent 3000001 bytes in", recv: "received 3000001 bytes in"} {
		assert.Contains(t, r.err.String(), verb)
		assert.Contains(t, r.err.String(), sum)
		assert.Equal(t, 1, strings.Count(r.err.String(), "\n"), "no progress where there is no terminal")
		assert.NotContains(t, r.err.String(), "\r")
		assert.Empty(t, r.out.String())
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestSendAndRecvQuietPipes(t *testing.T) {
	file, data := testFile(t, 10_000)
	in, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	address := newAddress()
	recv := start(t, nil, "recv", address, "--quiet")
	send := start(t, in, "send", address, "--quiet", "--block", "256").wait(t)
	require.Equal(t, ExitOK, send.code, send.err.String())
	require.Equal(t, ExitOK, recv.wait(t).code, recv.err.String())
	assert.Equal(t, string(data), recv.out.String())
	assert.Empty(t, recv.err.String())
	assert.Empty(t, send.err.String())
}

func TestSendToNobody(t *testing.T) {
	file, _ := testFile(t, 10)
	r := bmiRun(t, "send", "mem://nobody", file, "--timeout", "1ms")
	assert.Equal(t, ExitNobody, r.code)
	assert.Contains(t, r.err.String(), "start `bmi recv mem://nobody`")

	r = bmiRun(t, "send", "mem://nobody", "/no/such/file")
	assert.Equal(t, ExitFailed, r.code)
	assert.Contains(t, r.err.String(), "no such file")
}

func TestRecvLeavesNoHalfFile(t *testing.T) {
	folder := t.TempDir()
	out := filepath.Join(folder, "out")
	address := newAddress()
	recv := start(t, nil, "recv", address, "-o", out)
	in, feed, err := os.Pipe()
	require.NoError(t, err)
	send := start(t, in, "send", address, "--block", "256")
	_, err = feed.Write(make([]byte, 10_000))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		parts, err := filepath.Glob(filepath.Join(folder, ".out.part-*"))
		if err != nil || len(parts) != 1 {
			return false
		}
		info, err := os.Stat(parts[0])
		return err == nil && info.Size() > 0
	}, waitMax, 1e6)
	send.stop()
	assert.Equal(t, ExitInterrupted, send.wait(t).code)
	assert.Contains(t, send.err.String(), "interrupted")
	assert.Equal(t, ExitPeerFailed, recv.wait(t).code)
	assert.Contains(t, recv.err.String(), "the sender was interrupted")
	require.NoError(t, feed.Close())
	require.NoError(t, in.Close())
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestRecvWhereItCannotWrite(t *testing.T) {
	r := bmiRun(t, "recv", newAddress(), "-o", "/no/such/folder/out")
	assert.Equal(t, ExitUsage, r.code)
	assert.Contains(t, r.err.String(), "there is no folder /no/such/folder")
}

func TestExitCodes(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("around: %w", err) }
	for err, want := range map[error]int{
		nil:                                ExitOK,
		errors.New("x"):                    ExitFailed,
		program.Usagef("x"):                ExitUsage,
		bmi.ErrBadAddress:                  ExitUsage,
		bmi.ErrUnreachable:                 ExitNobody,
		stream.ErrNobody:                   ExitNobody,
		bmi.ErrPeerFailed:                  ExitPeerFailed,
		stream.ErrOtherSide:                ExitPeerFailed,
		stream.ErrGone:                     ExitPeerFailed,
		stream.ErrChecksum:                 ExitChecksum,
		fmt.Errorf("%w", program.ErrUsage): ExitUsage,
	} {
		assert.Equal(t, want, ExitCode(err), err)
		if err != nil {
			assert.Equal(t, want, ExitCode(wrapped(err)), err)
		}
	}
	late := fmt.Errorf("%w: %w", stream.ErrGone, bmi.ErrUnreachable)
	assert.Equal(t, ExitPeerFailed, ExitCode(late), "it was there, whatever the method says now")
}
