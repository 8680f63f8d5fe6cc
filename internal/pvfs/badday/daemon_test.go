package badday_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// far is a limit that only a hang reaches.
const far = wallclock.Patience

// tick is the interval between checks for a condition.
const tick = 20 * time.Millisecond

// linesKept is how much of a server's output is kept for a failure, bytes.
const linesKept = 32 << 10

// A fileSystem is a file system whose servers are processes.
type fileSystem struct {
	t       testing.TB
	folder  string
	conf    string
	name    string
	servers []*daemon
}

// A daemon is a pvfsd, running or not.
type daemon struct {
	t              testing.TB
	alias, address string
	args           []string

	cmd          *exec.Cmd // nil: it is stopped
	ready, ended chan struct{}

	mu   sync.Mutex
	said bytes.Buffer
}

// newFileSystem makes the stores of servers, and starts none. With its key, capabilities are signed.
func newFileSystem(t testing.TB, method string, servers int, change func(*config.GenOptions)) *fileSystem {
	t.Helper()
	f := &fileSystem{t: t, folder: t.TempDir()}
	f.conf = filepath.Join(f.folder, "fs.conf")
	key := filepath.Join(f.folder, "key")
	require.NoError(t, os.WriteFile(key, []byte("a key for tests, and for nothing else"), 0o600))
	gen := config.GenOptions{DataDir: f.folder + "/store", MetaDir: f.folder + "/store"}
	for i := range servers {
		gen.Servers = append(gen.Servers, config.GenServer{Alias: fmt.Sprintf("server%d", i), Address: freeAddress(t, method)})
	}
	if change != nil {
		change(&gen)
	}
	text, err := config.Generate(gen)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.conf, []byte(text), 0o600))
	cfg, err := config.Parse(text)
	require.NoError(t, err)
	f.name = cfg.Name
	for _, s := range cfg.Servers {
		d := &daemon{t: t, alias: s.Alias, address: s.Address}
		d.args = []string{"serve", "--config", f.conf, "--alias", s.Alias, "--key-file", key, "--create"}
		f.servers = append(f.servers, d)
	}
	t.Cleanup(func() {
		for _, d := range f.servers {
			d.kill()
		}
	})
	return f
}

// addresses counts the addresses used or tried.
var addresses atomic.Uint64

// freeAddress is an unused address. Its port is not one that the kernel may give to a client, because a client could take it
// while the server is down.
func freeAddress(t testing.TB, method string) string {
	if method != "tcp" {
		return fmt.Sprintf("%s://badday-%d-%d", method, os.Getpid(), addresses.Add(1))
	}
	for range 1000 {
		at := fmt.Sprintf("127.0.0.1:%d", 10000+(uint64(os.Getpid())*101+addresses.Add(1))%20000)
		if l, err := net.Listen("tcp", at); err == nil {
			require.NoError(t, l.Close())
			return "tcp://" + at
		}
	}
	require.FailNow(t, "no port is free")
	return ""
}

// command is a pvfsd command that was not started.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	return cmd
}

// says runs a pvfsd that ends by itself, and returns its output and its error.
func says(args ...string) (string, error) {
	cmd := command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := ends(cmd)
	return out.String(), err
}

// ends starts a program and waits until it ends by itself, or kills it after a time limit.
func ends(cmd *exec.Cmd) error {
	if err := pvfstest.StartChild(cmd); err != nil {
		return err
	}
	limit := time.AfterFunc(far, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	return cmd.Wait()
}

// start starts all stopped servers, and waits until they serve.
func (f *fileSystem) start() {
	f.t.Helper()
	for _, d := range f.servers {
		d.start()
	}
	for _, d := range f.servers {
		d.wait()
	}
}

// start starts a server without waiting.
func (d *daemon) start() {
	d.t.Helper()
	if d.cmd != nil {
		return
	}
	cmd := command(d.args...)
	out, err := cmd.StderrPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, pvfstest.StartChild(cmd))
	d.mu.Lock()
	d.said.Reset()
	d.mu.Unlock()
	d.cmd, d.ready, d.ended = cmd, make(chan struct{}), make(chan struct{})
	go d.listen(bufio.NewReader(out), d.ready, d.ended)
}

// listen reads the output of a server until it ends.
func (d *daemon) listen(from *bufio.Reader, ready, ended chan struct{}) {
	defer close(ended)
	serves := false
	for {
		line, err := from.ReadString('\n')
		d.mu.Lock()
		if d.said.Len() > linesKept {
			d.said.Next(linesKept / 2)
		}
		d.said.WriteString(line)
		d.mu.Unlock()
		if !serves && strings.Contains(line, " serves ") {
			serves = true
			close(ready)
		}
		if err != nil {
			return
		}
	}
}

// heard is the last output of a server.
func (d *daemon) heard() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said.String()
}

// wait waits until a server serves.
func (d *daemon) wait() {
	d.t.Helper()
	select {
	case <-d.ready:
	case <-d.ended:
		require.FailNow(d.t, d.alias+" ends", d.heard())
	case <-time.After(far):
		require.FailNow(d.t, d.alias+" does not start", d.heard())
	}
}

// kill kills a server, which must not have ended by itself.
func (d *daemon) kill() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Kill() // it may have ended: Wait shows that
	<-d.ended
	_ = d.cmd.Wait()
	state := d.cmd.ProcessState
	d.cmd = nil
	if state.Exited() {
		d.t.Errorf("%s ended by itself: %s\n%s", d.alias, state, d.heard())
	}
}

// kill kills all servers.
func (f *fileSystem) kill() {
	for _, d := range f.servers {
		d.kill()
	}
}

// check runs pvfsd check --all, and returns its output and its exit code.
func (f *fileSystem) check(args ...string) (lines []string, code int) {
	f.t.Helper()
	cmd := command(append([]string{"check", "--all", "--config", f.conf}, args...)...)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	err := ends(cmd)
	lines, code = strings.Split(strings.TrimSpace(out.String()), "\n"), cmd.ProcessState.ExitCode()
	if err != nil && code != pvfsd.ExitDamaged {
		require.NoError(f.t, err, wrong.String())
	}
	return lines, code
}

// mount mounts a client. Without retries in opt, it tries every request once.
func (f *fileSystem) mount(opt client.Options) *client.FS {
	f.t.Helper()
	opt.User = &client.Identity{Groups: []uint32{0}}
	ctx, cancel := context.WithTimeout(context.Background(), far)
	defer cancel()
	m, err := client.Mount(ctx, f.servers[0].address+"/"+f.name, opt)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, m.Close()) })
	return m
}

// fresh are options for a client without caches.
func fresh(opt client.Options) client.Options {
	opt.AttrTime, opt.SizeTime, opt.NameTime = -1, -1, -1
	return opt
}

// patient are options for a client that retries until a server is up again.
func patient() client.Options {
	return client.Options{RetryLimit: 2000, RetryDelay: 20 * time.Millisecond, Seed: 1}
}
