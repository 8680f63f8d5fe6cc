package stock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// MountPoint is the mount point in the tools' table. The tools take paths of a mounted file system.
const MountPoint = "/mnt/viaduct-stock"

// toolTimeMax limits the time of a tool.
const toolTimeMax = 120 * time.Second

// Tools runs OrangeFS's tools on a file system of any servers.
type Tools struct {
	Install
	// Dir is their working directory, and Tab their table of file systems.
	Dir, Tab string
	// Env has additional environment variables.
	Env []string
	// In is their input: a password.
	In string

	uid, gid          uint32
	keyFile, certFile string
}

// A Result is the result of a tool.
type Result struct {
	Command string
	Out     string // standard output and error, interleaved
	Status  int    // -1 if a signal ended it
	End     string // the status in words
}

// Tools makes a folder and a table of file systems for tools on source.
func (o Install) Tools(tb testing.TB, source string) *Tools {
	tb.Helper()
	dir := tb.TempDir()
	// Other users also run tools here.
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil { //nolint:gosec // see above
			tb.Fatalf("stock: open a temporary folder: %v", err)
		}
	}
	t := &Tools{Install: o, Dir: dir, Tab: filepath.Join(dir, "pvfs2tab"), keyFile: o.KeyFile()}
	if o.certs != nil {
		t.certFile, t.keyFile = o.certs.CA.CertFile, o.certs.CA.KeyFile // of root
	}
	line := fmt.Sprintf("%s %s pvfs2 defaults,noauto 0 0\n", source, MountPoint)
	if err := os.WriteFile(t.Tab, []byte(line), 0o644); err != nil { //nolint:gosec // others read it
		tb.Fatalf("stock: write a table of file systems: %v", err)
	}
	return t
}

// As returns the tools for another user. Only root can use it.
func (t *Tools) As(tb testing.TB, uid, gid uint32) *Tools {
	tb.Helper()
	other := *t
	other.uid, other.gid, other.keyFile = uid, gid, t.keyFor(tb, uid, gid)
	return &other
}

// Path is the path for tools of a name in the file system, which begins with a slash.
func Path(name string) string { return MountPoint + strings.TrimSuffix(name, "/") }

// Run runs a tool until it ends.
func (t *Tools) Run(tb testing.TB, name string, args ...string) Result {
	tb.Helper()
	return t.Exec(tb, t.Program(tb, name), args...)
}

// Exec is Run for a program at any path.
func (t *Tools) Exec(tb testing.TB, path string, args ...string) Result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeMax)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	// A pvfs2-cp that fails early sets the mode of descriptor 0 to that of its source. That must not be the machine's null
	// device.
	cmd.Stdin = strings.NewReader(t.In)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Dir = t.Dir
	cmd.Env = append(append(os.Environ(), t.libraries(), "PVFS2TAB_FILE="+t.Tab, "PVFS2KEY_FILE="+t.keyFile, "PVFS2CERT_FILE="+t.certFile), t.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: t.In != ""} // a program with a terminal asks it for passwords
	if t.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: t.uid, Gid: t.gid}
	}
	// The kernel sends the signal when the thread that started the process ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	r := Result{Command: strings.Join(append([]string{filepath.Base(path)}, args...), " "), Out: out.String()}
	if ctx.Err() != nil {
		tb.Fatalf("stock: %s still runs after %v: %s", r.Command, toolTimeMax, tail(r.Out))
	}
	if cmd.ProcessState == nil {
		tb.Fatalf("stock: start %s: %v", r.Command, err)
	}
	r.Status, r.End = cmd.ProcessState.ExitCode(), cmd.ProcessState.String()
	return r
}

// OK runs a tool that must succeed, and returns its output.
func (t *Tools) OK(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	r := t.Run(tb, name, args...)
	if r.Status != 0 {
		tb.Fatalf("stock: %s ends with %s: %s", r.Command, r.End, tail(r.Out))
	}
	return r.Out
}

// Fails runs a tool that must fail, and returns its output.
func (t *Tools) Fails(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	r := t.Run(tb, name, args...)
	if r.Status == 0 {
		tb.Fatalf("stock: %s succeeds: %s", r.Command, tail(r.Out))
	}
	return r.Out
}

// Said is the output of a program so far.
func (p *Process) Said() string { return p.out.String() }

// Settle waits until stock servers have made all the objects that they keep in stock for each other. They start when all servers
// listen. A tool that lists objects meanwhile writes beyond the end of its list, and may crash.
func (t *Tools) Settle(tb testing.TB) {
	tb.Helper()
	begin := time.Now()
	for last, since := "", begin; time.Since(since) < settledAfter; time.Sleep(settledEvery) {
		if time.Since(begin) > toolTimeMax {
			tb.Fatalf("stock: the number of objects still changes after %v: %s", toolTimeMax, last)
		}
		if now := fmt.Sprint(objectCounts.FindAllString(t.OK(tb, "pvfs2-statfs", "-m", MountPoint), -1)); now != last {
			last, since = now, time.Now()
		}
	}
}

const (
	// settledAfter is longer than the two seconds after which a stock server asks another one again.
	settledAfter = 2500 * time.Millisecond
	settledEvery = 250 * time.Millisecond
)

// objectCounts finds the numbers of objects in the output of pvfs2-statfs.
var objectCounts = regexp.MustCompile(`handles \w+\s*: \d+`)
