package need

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A recorder is a test that is told to skip or to fail.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) { r.skipped = fmt.Sprintf(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	panic(r)
}

func TestUnless(t *testing.T) {
	no := errors.New("there is no device")
	for _, c := range []struct {
		must, what, skipped, failed string
		err                         error
	}{
		{"", FUSE, "", "", nil},
		{"", FUSE, "needs fuse: there is no device", "", no},
		{"all", FUSE, "", "needs fuse: there is no device; VIADUCT_MUST=all forbids to skip", no},
		{"all,-fuse", FUSE, "needs fuse: there is no device", "", no},
		{"ip,fuse", FUSE, "", "needs fuse: there is no device; VIADUCT_MUST=ip,fuse forbids to skip", no},
		{"ip", FUSE, "needs fuse: there is no device", "", no},
		{"all", OrangeFS, "needs orangefs: there is no device", "", no},
		{"all", "prterun", "needs prterun: there is no device", "", no},
	} {
		t.Setenv(MustVariable, c.must)
		r := &recorder{}
		func() {
			defer func() { _ = recover() }() // a failed test ends
			Unless(r, c.what, c.err)
		}()
		assert.Equal(t, [2]string{c.skipped, c.failed}, [2]string{r.skipped, r.failed}, "%+v", c)
	}
}

func TestProgram(t *testing.T) {
	t.Setenv(MustVariable, "")
	assert.NotEmpty(t, Program(t, "no such program", "sh"))
	t.Setenv("PATH", t.TempDir())
	r := &recorder{}
	assert.Empty(t, Program(r, "tshark"))
	assert.Equal(t, "needs tshark: not installed: apt-get install tshark", r.skipped)
	what, why, ok := Reason(r.skipped)
	assert.Equal(t, [2]string{"tshark", "not installed: apt-get install tshark"}, [2]string{what, why})
	assert.True(t, ok)
	_, _, ok = Reason("soak: it takes seconds")
	assert.False(t, ok)
}

// TestMachine: what was installed since shows.
func TestMachine(t *testing.T) {
	before := Machine()
	assert.Equal(t, before, Machine())
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prterun"), []byte("#!/bin/sh\n"), 0o755))
	assert.NotEqual(t, before, Machine())
}
