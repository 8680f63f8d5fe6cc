package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
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

	"github.com/viaduct-hpc/viaduct/internal/cli"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// TestPlugins uses the plugins that are built with the command.
func TestPlugins(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, programs.Build(folder, "cmd/bmi-method-via", "cmd/bmi-method-tcp"))
	via, tcp := filepath.Join(folder, "bmi-method-via"), filepath.Join(folder, "bmi-method-tcp")

	said, err := exec.Command(tcp, "--version").Output()
	require.NoError(t, err)
	require.Regexp(t, `^bmi-method-tcp \S+ go\S+ linux/\w+\n$`, string(said))

	t.Run("list", func(t *testing.T) { pluginsList(t, folder) })
	t.Run("check", func(t *testing.T) { pluginsCheck(t, via, tcp) })
	t.Run("interrupt", func(t *testing.T) { pluginsInterrupt(t, via) })
	t.Run("transfer", func(t *testing.T) { pluginsTransfer(t, via) })
	t.Run("kill", func(t *testing.T) { pluginsKill(t, via) })
	t.Run("perf", func(t *testing.T) { pluginsPerf(t, via) })
}

func pluginsList(t *testing.T, folder string) {
	p := command(t, "plugins", "list", folder, "--json").start()
	require.Equal(t, cli.ExitOK, p.wait(), p.err.String())
	offered := map[string][]string{}
	in := json.NewDecoder(&p.out)
	for in.More() {
		var i struct {
			Name, Data string
			Methods    []string
		}
		require.NoError(t, in.Decode(&i))
		assert.Equal(t, "rings", i.Data)
		offered[i.Name] = i.Methods
	}
	assert.Equal(t, map[string][]string{"tcp": {"tcp", "tcps"}, "via": {"via+shm", "via+udp"}}, offered)
}

// pluginsCheck runs the tests of the suite that need other processes, and a few more; the whole
// suite runs over these methods elsewhere.
func pluginsCheck(t *testing.T, via, tcp string) {
	const some = "SendRecv|NameTaken|TruncatedEarly|LargeFirst|SleepPingPong|DropAddr"
	for _, args := range [][]string{
		{via, "--method", "via+shm", "--run", "^(" + some + "|ForkKilled|ForkRestarted)$"},
		{via, "--method", "via+shm", "--no-rings", "--run", "^(" + some + ")$"},
		// Over UDP it takes a while to notice that a peer was killed.
		{via, "--method", "via+udp", "--env", "VIADUCT_UDP_INSECURE=1", "--run", "^(" + some + "|ForkEcho)$"},
		{tcp, "--method", "tcp", "--run", "^(" + some + "|ForkKilled|ForkRestarted)$"},
	} {
		p := command(t, append([]string{"plugins", "check"}, args...)...).start()
		require.Equal(t, cli.ExitOK, p.wait(), "%v\n%s\n%s", args, p.out.String(), p.err.String())
		want := strings.Count(args[len(args)-1], "|") + 1
		assert.Contains(t, p.out.String(), fmt.Sprintf("%s: %d ok, 0 skipped, 0 failed", args[2], want), args)
		assert.Empty(t, p.err.String(), args)
	}
	p := command(t, "plugins", "check", via, "--method", "via+udp").start()
	assert.Equal(t, cli.ExitFailed, p.wait())
	assert.Contains(t, p.out.String(), "VIADUCT_UDP_KEY_FILE", "what the plugin says")
	assert.Contains(t, p.out.String(), "--env gives it what it needs")
}

func pluginsInterrupt(t *testing.T, via string) {
	p := command(t, "plugins", "check", via, "--method", "via+shm")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p.cmd.Stdout = w
	p.start()
	require.NoError(t, w.Close())
	_, err = bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	assert.Equal(t, cli.ExitInterrupted, p.wait(), p.err.String())
	require.NoError(t, r.Close())
}

// pluginsTransfer: a side with a plugin and one without can communicate.
func pluginsTransfer(t *testing.T, via string) {
	data := make([]byte, 5<<20+123)
	_, _ = rand.Read(data)
	with := []string{"plugins", "run", via, "--"}
	for _, sides := range [][2][]string{{with, with}, {with, nil}, {nil, with}} {
		address := "via+shm://bmi-plugins-" + filepath.Base(t.TempDir()) + rand.Text()
		recv := command(t, append(sides[0][:len(sides[0]):len(sides[0])], "recv", address)...).start()
		send := command(t, append(sides[1][:len(sides[1]):len(sides[1])], "send", address)...)
		send.cmd.Stdin = bytes.NewReader(data)
		require.Equal(t, cli.ExitOK, send.start().wait(), send.err.String())
		require.Equal(t, cli.ExitOK, recv.wait(), recv.err.String())
		require.True(t, bytes.Equal(data, recv.out.Bytes()))
	}
}

// pluginsKill: when a command is killed, its plugin dies with it.
func pluginsKill(t *testing.T, via string) {
	address := "via+shm://bmi-plugins-" + rand.Text()
	for range 2 { // the second time, the name must be free
		p := command(t, "plugins", "run", via, "--", "serve", address)
		messages, w, err := os.Pipe()
		require.NoError(t, err)
		p.cmd.Stderr = w
		p.start()
		require.NoError(t, w.Close())
		line, err := bufio.NewReader(messages).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "serving at "+address)
		require.NoError(t, messages.Close())
		children := processesOf(t, via)
		require.NotEmpty(t, children)
		require.NoError(t, p.cmd.Process.Kill())
		for _, child := range children {
			require.Eventually(t, func() bool { return ended(child) }, waitMax, time.Millisecond)
		}
		require.Empty(t, processesOf(t, via))
	}
}

// processesOf returns the folders in /proc of the processes that run a file.
func processesOf(t *testing.T, file string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(t, err)
	var found []string
	for _, exe := range all {
		if at, err := os.Readlink(exe); err == nil && at == file {
			found = append(found, filepath.Dir(exe))
		}
	}
	return found
}

// ended reports whether a process has released all its resources, including locks: it is gone, or
// is a zombie. A little earlier it already runs no file.
func ended(process string) bool {
	stat, err := os.ReadFile(filepath.Join(process, "stat"))
	_, state, found := strings.Cut(string(stat), ") ")
	return err != nil || found && state[0] == 'Z'
}

func pluginsPerf(t *testing.T, via string) {
	p := command(t, "plugins", "run", via, "--", "perf", "via+shm", "--json", "--time", "2ms", "--tests", "latency", "--sizes", "8").start()
	require.Equal(t, cli.ExitOK, p.wait(), p.err.String())
	var r perf.Result
	require.NoError(t, json.Unmarshal(p.out.Bytes(), &r))
	assert.Equal(t, "via+shm", r.Method)
	assert.Positive(t, r.Median)
}
