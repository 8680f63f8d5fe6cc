package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// mainVariable makes the test binary the command.
const mainVariable = "PVFSD_TEST_MAIN"

// far is a time limit that only a hang reaches.
const far = wallclock.Patience

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command is pvfsd in a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1", "VIADUCT_UDP_INSECURE=1")
	return cmd
}

// A daemon is a running server.
type daemon struct {
	t         *testing.T
	cmd       *exec.Cmd
	addresses []string
	rest      bytes.Buffer
	ended     chan struct{}
}

func serve(t *testing.T, args ...string) *daemon {
	t.Helper()
	return serveAs(t, func(*exec.Cmd) {}, args...)
}

// serveAs is serve in a process that is changed before it starts.
func serveAs(t *testing.T, change func(*exec.Cmd), args ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, cmd: command(t, append([]string{"serve"}, args...)...), ended: make(chan struct{})}
	change(d.cmd)
	out, err := d.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, pvfstest.StartChild(d.cmd))
	lines := bufio.NewReader(out)
	ready := make(chan struct{})
	go func() {
		defer close(d.ended)
		for {
			line, err := lines.ReadString('\n')
			if _, at, ok := strings.Cut(strings.TrimSpace(line), " at "); ok && d.addresses == nil {
				d.addresses = strings.Split(at, ", ")
				close(ready)
			} else {
				d.rest.WriteString(line)
			}
			if err != nil {
				_ = d.cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.ended
	})
	select {
	case <-ready:
	case <-d.ended:
		require.FailNow(t, "the server ends", d.rest.String())
	case <-time.After(far):
		require.FailNow(t, "the server does not start")
	}
	return d
}

// end sends a signal and waits for the exit code.
func (d *daemon) end(signal os.Signal) int {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Signal(signal))
	select {
	case <-d.ended:
	case <-time.After(far):
		require.FailNow(d.t, "the server hangs")
	}
	return d.cmd.ProcessState.ExitCode()
}

// noop asks whether a server answers.
func noop(t *testing.T, address string) {
	t.Helper()
	require.NoError(t, ask(t, address), address)
}

// refused calls a server that must not answer.
func refused(t *testing.T, address string) {
	t.Helper()
	require.ErrorIs(t, ask(t, address), os.ErrPermission)
}

func ask(t *testing.T, address string) error {
	t.Helper()
	ep, err := bmi.Open(context.Background(), bmi.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, ep.Close()) }()
	to, err := ep.Lookup(address)
	require.NoError(t, err)
	c := rpc.NewCaller(ep, rpc.Options{Timeout: far})
	defer func() { require.NoError(t, c.Close()) }()
	return c.Call(context.Background(), to, nil, &proto.NoopReq{}, &proto.NoopResp{})
}

func TestServeStopKillAndServeAgain(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	folder := t.TempDir()
	conf, dir := filepath.Join(folder, "fs.conf"), filepath.Join(folder, "data")
	address := "tcp://" + freeport.Address(t) + ",via+shm://pvfsd-main-" + filepath.Base(folder) + filepath.Base(filepath.Dir(folder)) + ",via+udp://127.0.0.1:0"
	for _, args := range [][]string{
		{"genconfig", "-o", conf, "one=" + address},
		{"mkfs", "--config", conf, "--dir", dir},
	} {
		out, err := command(t, args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGINT} {
		d := serve(t, "--config", conf, "--dir", dir)
		require.Len(t, d.addresses, 3)
		for _, at := range d.addresses {
			noop(t, at)
		}
		code := d.end(signal)
		if signal != syscall.SIGKILL {
			assert.Equal(t, pvfsd.ExitOK, code, d.rest.String())
			assert.Contains(t, d.rest.String(), "one stops after 3 requests")
		}
	}
	out, err := command(t, "check", "--dir", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "is in order")
}

// TestHangup: after SIGHUP a server uses a new log file and new rules for clients. A configuration
// with an error changes nothing.
func TestHangup(t *testing.T) {
	folder := t.TempDir()
	conf, log := filepath.Join(folder, "fs.conf"), filepath.Join(folder, "log")
	out, err := command(t, "genconfig", "-o", conf, "--insecure", "one=tcp://"+freeport.Address(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	d := serve(t, "--config", conf, "--dir", filepath.Join(folder, "data"), "--create", "--log-file", log)
	text, err := os.ReadFile(conf)
	require.NoError(t, err)
	old := 0
	hangup := func(with, says string) {
		t.Helper()
		changed := strings.Replace(string(text), "</Security>", with+"\n</Security>", 1)
		require.NoError(t, os.WriteFile(conf, []byte(changed), 0o600))
		old++
		require.NoError(t, os.Rename(log, fmt.Sprint(log, old)))
		require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
		require.Eventually(t, func() bool {
			b, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(b), says)
		}, far, time.Millisecond, says)
	}
	noop(t, d.addresses[0])
	hangup("TrustedNetwork tcp://10.0.0.0@8", `were read again" changed=TrustedNetwork`)
	refused(t, d.addresses[0])
	hangup("TrustedNetwrok tcp://*", "did you mean TrustedNetwork?")
	refused(t, d.addresses[0])
	hangup("CapabilityTimeoutSecs 5", "it differs from the one at the start in Security, which takes a restart")
	refused(t, d.addresses[0])
	hangup("", `were read again" changed=TrustedNetwork`)
	noop(t, d.addresses[0])
	hangup("", `were read again" changed=nothing`)
	require.Zero(t, d.end(syscall.SIGTERM))
	first, err := os.ReadFile(log + "1")
	require.NoError(t, err)
	require.Contains(t, string(first), "msg=serving")
	last, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Contains(t, string(last), "msg=stopped")
}

// TestHangupNeverKills: SIGHUP does not end a server even while it reads its configuration, here from a pipe, and counts then, too.
func TestHangupNeverKills(t *testing.T) {
	folder := t.TempDir()
	conf, pipe, log := filepath.Join(folder, "fs.conf"), filepath.Join(folder, "pipe"), filepath.Join(folder, "log")
	out, err := command(t, "genconfig", "-o", conf, "one=tcp://"+freeport.Address(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(conf)
	require.NoError(t, err)
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := command(t, "serve", "--config", pipe, "--dir", filepath.Join(folder, "data"), "--create", "--log-file", log)
	require.NoError(t, pvfstest.StartChild(cmd))
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	feed := func(signal os.Signal) {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the server reads
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(signal))
		_, err = f.Write(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	logs := func(says string) {
		require.Eventually(t, func() bool {
			b, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(b), says)
		}, far, time.Millisecond)
	}
	feed(syscall.SIGHUP)
	logs("msg=serving")
	feed(syscall.SIGUSR1) // the server reads it for the SIGHUP
	logs(`were read again" changed=nothing`)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// TestHangupReadsKeys: after SIGHUP a server accepts the new key of its method, and says which file has changed; a key of the
// servers takes a restart.
func TestHangupReadsKeys(t *testing.T) {
	t.Run("tcps", func(t *testing.T) { hangupReadsKeys(t, "tcps", "VIADUCT_TLS_SECRET", "tcps://"+freeport.Address(t)) })
	t.Run("via+udp", func(t *testing.T) {
		hangupReadsKeys(t, "via+udp", "VIADUCT_UDP_KEY_FILE", "via+udp://"+freeport.UDPAddress(t))
	})
}

func hangupReadsKeys(t *testing.T, method, variable, address string) {
	folder := t.TempDir()
	conf, log, secret, key := filepath.Join(folder, "fs.conf"), filepath.Join(folder, "log"), filepath.Join(folder, "secret"), filepath.Join(folder, "fs.key")
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	write(secret, "the first of two passphrases")
	write(key, "the key of all servers")
	t.Setenv(variable, secret)
	out, err := command(t, "genconfig", "-o", conf, "one="+address).CombinedOutput()
	require.NoError(t, err, string(out))
	keyed := func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "VIADUCT_UDP_INSECURE=0") }
	d := serveAs(t, keyed, "--config", conf, "--dir", filepath.Join(folder, "data"), "--create", "--log-file", log, "--key-file", key)
	noop(t, d.addresses[0])
	hangup := func(says string) {
		require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
		require.Eventually(t, func() bool {
			b, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(b), says)
		}, far, time.Millisecond, says)
	}
	write(secret, "short")
	hangup("the keys of " + method + " are as before")
	write(secret, "the second of two passphrases")
	require.ErrorIs(t, ask(t, d.addresses[0]), bmi.ErrRefused, "this process has the new key, and the server the old one")
	hangup("methods=" + method + " changed=" + secret)
	noop(t, d.addresses[0])
	write(key, "another key of all servers")
	hangup("takes effect at the next start\" files=" + key)
	require.Zero(t, d.end(syscall.SIGTERM))
}

// TestStatisticsAreToldOfRefusals: SIGUSR1 writes the statistics to the log, and the server prints
// them at its end.
func TestStatisticsAreToldOfRefusals(t *testing.T) {
	folder := t.TempDir()
	conf, log := filepath.Join(folder, "fs.conf"), filepath.Join(folder, "log")
	out, err := command(t, "genconfig", "-o", conf, "--trusted", "tcp://10.0.0.0@8", "one=tcp://"+freeport.Address(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	d := serve(t, "--config", conf, "--dir", filepath.Join(folder, "data"), "--create", "--log-file", log)
	refused(t, d.addresses[0])
	refused(t, d.addresses[0])
	text := func() string {
		b, err := os.ReadFile(log)
		require.NoError(t, err)
		return string(b)
	}
	assert.Equal(t, 1, strings.Count(text(), `msg="pvfs: network or port not trusted" client=tcp://127.0.0.1:`), text())
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGUSR1))
	require.Eventually(t, func() bool { return strings.Contains(text(), "msg=statistics") }, far, time.Millisecond)
	assert.Contains(t, text(), `requests=2 "requests refused or failed"=2`)
	assert.Contains(t, text(), `"network or port not trusted"=2`)
	require.Zero(t, d.end(syscall.SIGTERM))
	assert.Contains(t, d.rest.String(), "one stops after 2 requests, 2 of them refused or failed")
	assert.Regexp(t, `pvfsd: +2  network or port not trusted\n`, d.rest.String())
	for _, line := range []string{"msg=stopping", "msg=stopped"} {
		assert.Contains(t, text(), line)
	}
}
