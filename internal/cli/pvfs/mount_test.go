package pvfs

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/fuse"
)

// TestMount mounts, and is interrupted.
func TestMount(t *testing.T) {
	err := fuse.Available()
	if err != nil && os.Getenv("VIADUCT_FUSE") != "must" {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	require.NoError(t, err)
	s := newShell(t)
	s.in = []byte("some bytes")
	s.ok("put " + s.source + "/f")

	dir := t.TempDir()
	t.Cleanup(func() {
		if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil && strings.Contains(string(mounts), " "+dir+" ") {
			t.Errorf("%s is still mounted: %v", dir, fuse.Detach(dir))
		}
	})
	ctx, interrupt := context.WithTimeout(context.Background(), time.Minute)
	defer interrupt()
	read, write := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		app := &App{Out: write, Err: &errs}
		code <- app.Main(ctx, []string{"mount", s.source, dir})
		write.Close()
	}()
	line := make([]byte, 200)
	n, err := read.Read(line)
	if err != nil {
		<-code
		if text := errs.String(); strings.Contains(text, fuse.ErrUnavailable.Error()) && os.Getenv("VIADUCT_FUSE") != "must" {
			t.Skipf("nothing can be mounted here: %s", text)
		}
		t.Fatal(errs.String())
	}
	assert.Contains(t, string(line[:n]), "is mounted on "+dir)
	got, err := os.ReadFile(filepath.Join(dir, "f"))
	assert.NoError(t, err)
	assert.Equal(t, "some bytes", string(got))
	interrupt()
	assert.Equal(t, ExitOK, <-code, "an interrupt is how it ends")
	assert.NoFileExists(t, filepath.Join(dir, "f"))
}

// TestMountMistakes has command lines that cannot work.
func TestMountMistakes(t *testing.T) {
	s := newShell(t)
	assert.Contains(t, s.no(ExitUsage, "mount"), "takes a SOURCE and a DIR")
	assert.Contains(t, s.no(ExitUsage, "mount -keep -1s /tmp"), "cannot be negative")
	if fuse.Available() == nil {
		assert.Contains(t, s.no(ExitUsage, "mount "+s.source+"/below "+t.TempDir()), "not the top")
		assert.Contains(t, s.no(ExitFailed, "mount "+s.source+" "+t.TempDir()+"/none"), "no such file")
	}
}
