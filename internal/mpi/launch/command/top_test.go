package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

func TestTopNeedsATerminal(t *testing.T) {
	code, _, err := run(t, "-top true")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, err, "--top: standard error is no terminal: leave it out, or use --genv VIADUCT_METRICS=dir:/FOLDER and bmi top dir:/FOLDER")
	code, _, err = run(t, "-top -hosts a,b true")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, err, "--top shows jobs on this machine")
}

// TestTopOnATerminal: what the job prints is there in order, and nothing of the view is left on the screen.
func TestTopOnATerminal(t *testing.T) {
	master, slave := terminal(t)
	t.Setenv("TMPDIR", t.TempDir())
	a := &App{Out: slave, Err: slave}
	text := make(chan string)
	go func() {
		var all strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			all.Write(buf[:n])
			if err != nil || strings.Contains(all.String(), "END") {
				text <- all.String()
				return
			}
		}
	}()
	code := a.Main(t.Context(), []string{"-top", "-n", "1", "sh", "-c", `echo in $VIADUCT_METRICS; test -d "${VIADUCT_METRICS#dir:}" && echo it is there; exit 3`})
	require.Equal(t, 3, code)
	_, err := slave.WriteString("END\n")
	require.NoError(t, err)
	out := <-text
	assert.Regexp(t, `in dir:\S+/viaduct-top-\d+\r\n`, out)
	assert.Contains(t, out, "it is there")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "viaduct-top-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// terminal makes a terminal: what is written to slave can be read from master.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	need.Unless(t, need.Terminal, err)
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err = os.OpenFile(filepath.Join("/dev/pts", strconv.Itoa(n)), os.O_RDWR|unix.O_NOCTTY, 0)
	need.Unless(t, need.Terminal, err)
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}
