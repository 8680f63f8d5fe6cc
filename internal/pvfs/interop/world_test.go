package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/programs"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// A world is a file system with stock tools for it.
type world struct {
	*stock.Tools
	addresses []string
	cluster   *pvfstest.Cluster // nil: the servers are not in this process
}

// ours are servers in this process.
func ours(t testing.TB, servers int, change func(*config.GenOptions), more ...func(*server.Config)) *world {
	t.Helper()
	o := stock.Need(t)
	// pvfs2-fsck and other tools send no capability.
	configured := func(_ int, cfg *server.Config) {
		cfg.Trusted = []string{"tcp://127.0.0.1"}
		for _, change := range more {
			change(cfg)
		}
	}
	configure := func(gen *config.GenOptions) {
		o.Configure(gen)
		if change != nil {
			change(gen)
		}
	}
	c := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP, Servers: servers, Config: configure, Server: configured})
	w := &world{Tools: o.Tools(t, c.Source()), cluster: c}
	for i := range c.Len() {
		w.addresses = append(w.addresses, c.Address(i))
	}
	return w
}

// theirs are stock servers.
func theirs(t testing.TB, servers int, change func(*config.GenOptions)) *world {
	t.Helper()
	c := stock.Start(t, stock.Options{Servers: servers, Config: change})
	w := &world{Tools: c.Tools(t, c.Source())}
	for i := range c.Len() {
		w.addresses = append(w.addresses, c.Address(i))
	}
	for range 600 { // a server listens before it has made the root directory
		if w.Run(t, "pvfs2-stat", at("/lost+found")).Status == 0 {
			return w
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("stock servers do not make their root directory")
	return nil
}

// binaries are pvfsd processes with a common key, and with the configuration of genconfig.
func binaries(t testing.TB, servers int, options ...string) *world {
	t.Helper()
	o := stock.Need(t)
	dir := t.TempDir()
	pvfsd := filepath.Join(dir, "pvfsd")
	require.NoError(t, programs.Build(dir, "cmd/pvfsd"))
	w := &world{}
	args := append([]string{"genconfig", "-o", filepath.Join(dir, "fs.conf"), "--dir", filepath.Join(dir, "store")}, options...)
	if store := o.Keystore(); store != "" {
		args = append(args, "--keystore", store)
	}
	for i := range servers {
		w.addresses = append(w.addresses, fmt.Sprintf("tcp://127.0.0.1:%d", freeport.TCP(t)))
		args = append(args, fmt.Sprintf("s%d=%s", i, w.addresses[i]))
	}
	out, err := exec.Command(pvfsd, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	if servers == 1 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "fs.key"), []byte("genconfig makes none for one server"), 0o600))
	}
	for i := range servers {
		startBinary(t, pvfsd, "serve", "--config", filepath.Join(dir, "fs.conf"), "--alias", fmt.Sprintf("s%d", i), "--key-file", filepath.Join(dir, "fs.key"), "--create", "--manage-from", "tcp://127.0.0.1")
	}
	w.Tools = o.Tools(t, w.addresses[0]+"/pvfs2-fs")
	return w
}

// startBinary starts a server, and waits until it reports that it serves. It is stopped properly at the end of the test.
func startBinary(t testing.TB, path string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, pvfstest.StartChild(cmd))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	said := func() string {
		b, err := os.ReadFile(log.Name())
		require.NoError(t, err)
		return string(b)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // if it ended before, Wait shows that
		if err := <-ended; err != nil {
			t.Errorf("pvfsd ended: %v: %s", err, said())
		}
		_ = log.Close()
	})
	for range 6000 {
		if strings.Contains(said(), " serves ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("pvfsd does not say that it serves: %s", said())
}

// at is the path of a name for the tools.
func at(name string) string { return stock.Path(name) }

// content is n bytes of text in which every 16 bytes have their own offset.
func content(n int) []byte {
	b := make([]byte, 0, n+16)
	for len(b) < n {
		b = fmt.Appendf(b, "%015d\n", len(b))
	}
	return b[:n]
}

// local writes a local file for the tools.
func (w *world) local(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(w.Dir, name)
	require.NoError(t, os.WriteFile(path, data, 0o644)) //nolint:gosec // tools of other users read it
	return path
}

// fetch copies a file out and returns its contents.
func (w *world) fetch(t testing.TB, name string, options ...string) []byte {
	t.Helper()
	path := filepath.Join(w.Dir, "fetched")
	w.OK(t, "pvfs2-cp", append(options, at(name), path)...)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	return b
}

// fields are the fields in the output of pvfs2-stat for a name.
func (w *world) fields(t testing.TB, name string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(w.OK(t, "pvfs2-stat", at(name))) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			all[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return all
}
