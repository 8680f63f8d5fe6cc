package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/cli"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// mainVariable makes the test binary the command.
const mainVariable = "BMI_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// waitMax is how long anything may take before it counts as hanging.
const waitMax = wallclock.Patience

var names atomic.Int64

// overEach runs a test over each method of the binary. newAddress returns addresses that were not
// used before.
func overEach(t *testing.T, test func(t *testing.T, newAddress func() string)) {
	t.Run("via+shm", func(t *testing.T) {
		test(t, func() string { return fmt.Sprintf("via+shm://bmi-test-%d-%d", os.Getpid(), names.Add(1)) })
	})
	t.Run("tcp", func(t *testing.T) {
		test(t, func() string { return "tcp://" + freeport.Address(t) })
	})
}

// process is the command in a process of its own.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err bytes.Buffer
	ended    chan struct{}
}

func command(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("/proc/self/exe", args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), mainVariable+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	return p
}

func (p *process) start() *process {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(waitMax):
		require.FailNow(p.t, "the process hangs", "%v\n%s", p.cmd.Args, p.err.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

func TestSendAndRecvBetweenProcesses(t *testing.T) { overEach(t, sendAndRecv) }

func sendAndRecv(t *testing.T, newAddress func() string) {
	data := make([]byte, 20<<20+123)
	_, _ = rand.Read(data)
	for _, order := range []string{"receiver first", "sender first"} {
		address := newAddress()
		recv, send := command(t, "recv", address), command(t, "send", address)
		send.cmd.Stdin = bytes.NewReader(data)
		if order == "sender first" {
			send.start()
		}
		recv.start()
		if order == "receiver first" {
			send.start()
		}
		require.Equal(t, cli.ExitOK, send.wait(), "%s: %s", order, send.err.String())
		require.Equal(t, cli.ExitOK, recv.wait(), "%s: %s", order, recv.err.String())
		require.True(t, bytes.Equal(data, recv.out.Bytes()), order)
		assert.Equal(t, 1, strings.Count(recv.err.String(), "\n"), "one line, no progress: %q", recv.err.String())
		assert.Contains(t, recv.err.String(), "received 20971643 bytes")
	}
}

// half starts a transfer of an endless stream, and waits until some of it has arrived.
func half(t *testing.T, address string) (send, recv *process) {
	t.Helper()
	folder := t.TempDir()
	recv = command(t, "recv", address, "-o", filepath.Join(folder, "out")).start()
	send = command(t, "send", address, "--block", "64KiB")
	in, err := send.cmd.StdinPipe()
	require.NoError(t, err)
	send.start()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		for {
			if _, err := in.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = send.cmd.Process.Kill()
		<-fed
	})
	require.Eventually(t, func() bool {
		parts, err := filepath.Glob(filepath.Join(folder, ".out.part-*"))
		if err != nil || len(parts) != 1 {
			return false
		}
		info, err := os.Stat(parts[0])
		return err == nil && info.Size() > 1<<20
	}, waitMax, time.Millisecond)
	return send, recv
}

func TestKillOfTheSenderFailsTheReceiver(t *testing.T) { overEach(t, killSender) }

func killSender(t *testing.T, newAddress func() string) {
	send, recv := half(t, newAddress())
	require.NoError(t, send.cmd.Process.Kill())
	assert.Equal(t, cli.ExitPeerFailed, recv.wait(), recv.err.String())
	assert.Contains(t, recv.err.String(), "the sender is gone after")
	left, err := os.ReadDir(filepath.Dir(recv.cmd.Args[len(recv.cmd.Args)-1]))
	require.NoError(t, err)
	assert.Empty(t, left, "no half file")
}

func TestKillOfTheReceiverFailsTheSender(t *testing.T) { overEach(t, killReceiver) }

func killReceiver(t *testing.T, newAddress func() string) {
	send, recv := half(t, newAddress())
	require.NoError(t, recv.cmd.Process.Kill())
	assert.Equal(t, cli.ExitPeerFailed, send.wait(), send.err.String())
	assert.Contains(t, send.err.String(), "the receiver is gone after")
}

func TestInterruptOfEitherSideIsTold(t *testing.T) { overEach(t, interrupt) }

func interrupt(t *testing.T, newAddress func() string) {
	send, recv := half(t, newAddress())
	require.NoError(t, send.cmd.Process.Signal(syscall.SIGINT))
	assert.Equal(t, cli.ExitInterrupted, send.wait(), send.err.String())
	assert.Equal(t, cli.ExitPeerFailed, recv.wait(), recv.err.String())
	assert.Contains(t, recv.err.String(), "the sender was interrupted")

	send, recv = half(t, newAddress())
	require.NoError(t, recv.cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, cli.ExitInterrupted, recv.wait(), recv.err.String())
	assert.Equal(t, cli.ExitPeerFailed, send.wait(), send.err.String())
	assert.Contains(t, send.err.String(), "the receiver was interrupted")
}

func TestAReaderThatLeavesFailsBothSides(t *testing.T) { overEach(t, readerLeaves) }

func readerLeaves(t *testing.T, newAddress func() string) {
	address := newAddress()
	recv, send := command(t, "recv", address), command(t, "send", address)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	recv.cmd.Stdout = w
	zero, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer func() { require.NoError(t, zero.Close()) }()
	send.cmd.Stdin = zero
	recv.start()
	require.NoError(t, w.Close())
	send.start()
	_, err = io.ReadFull(r, make([]byte, 100_000))
	require.NoError(t, err)
	require.NoError(t, r.Close())
	assert.Equal(t, cli.ExitFailed, recv.wait(), recv.err.String())
	assert.Contains(t, recv.err.String(), "broken pipe")
	assert.Equal(t, cli.ExitPeerFailed, send.wait(), send.err.String())
	assert.Contains(t, send.err.String(), "broken pipe")
}

func TestPingAndANameThatIsTaken(t *testing.T) { overEach(t, pingAndTaken) }

func pingAndTaken(t *testing.T, newAddress func() string) {
	address := newAddress()
	server := command(t, "serve", address, "--child")
	in, err := server.cmd.StdinPipe()
	require.NoError(t, err)
	server.start()
	var ping *process
	require.Eventually(t, func() bool {
		ping = command(t, "ping", address, "--count", "2", "--interval", "1ms").start()
		return ping.wait() == cli.ExitOK
	}, waitMax, time.Millisecond)
	assert.Contains(t, ping.out.String(), "2 answered")

	second := command(t, "serve", address).start()
	assert.Equal(t, cli.ExitInUse, second.wait())
	assert.Contains(t, second.err.String(), "a running process listens at")

	require.NoError(t, in.Close())
	assert.Equal(t, cli.ExitOK, server.wait(), server.err.String())
	nobody := command(t, "ping", address).start()
	assert.Equal(t, cli.ExitNobody, nobody.wait(), nobody.err.String())
}

func TestPerfStartsItsPeerAndEndsIt(t *testing.T) {
	for _, method := range []string{"via+shm", "tcp"} {
		t.Run(method, func(t *testing.T) { perfOf(t, method) })
	}
}

func perfOf(t *testing.T, method string) {
	perf := command(t, "perf", method, "--json", "--time", "2ms", "--sizes", "8,64KiB").start()
	require.Equal(t, cli.ExitOK, perf.wait(), perf.err.String())
	tests := map[string]int{}
	for line := range strings.Lines(perf.out.String()) {
		var r struct {
			Test, Method, Unit string
			Median             float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		assert.Positive(t, r.Median, line)
		tests[r.Test+" "+r.Method]++
	}
	for _, test := range []string{"latency", "rate", "bandwidth", "bidirectional"} {
		assert.Equal(t, 2, tests[test+" "+method], test)
	}
}

func TestPerfThatIsKilledLeavesNoPeer(t *testing.T) { overEach(t, killPerf) }

func killPerf(t *testing.T, newAddress func() string) {
	address := newAddress()
	method, _, _ := strings.Cut(address, "://")
	perf := command(t, "perf", method, "--listen", address, "--json", "--tests", "latency", "--sizes", "0-64KiB", "--time", "1s")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	perf.cmd.Stdout = w
	perf.start()
	require.NoError(t, w.Close())
	_, err = bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err, "a result shows that the peer is there")
	require.NoError(t, perf.cmd.Process.Kill())
	require.NoError(t, r.Close())
	// A server that can take the name exits at once, because its input is empty.
	require.Eventually(t, func() bool {
		return command(t, "serve", address, "--child").start().wait() == cli.ExitOK
	}, waitMax, 10*time.Millisecond)
}

func TestMistypedAddressesOfHosts(t *testing.T) {
	for _, address := range []string{"tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://:port", "tcp://127.0.0.1:99999", "tcp://", "tcp:127.0.0.1:3334"} {
		for _, verb := range []string{"ping", "serve"} {
			p := command(t, verb, address).start()
			assert.Equal(t, cli.ExitUsage, p.wait(), "%s %s: %s", verb, address, p.err.String())
			assert.Contains(t, p.err.String(), "tcp://HOST:PORT", address)
		}
	}
}

func TestRecvSaysWhichPortItGot(t *testing.T) {
	recv := command(t, "recv", "tcp://127.0.0.1:0")
	messages, w, err := os.Pipe()
	require.NoError(t, err)
	recv.cmd.Stderr = w
	recv.start()
	require.NoError(t, w.Close())
	line, err := bufio.NewReader(messages).ReadString('\n')
	require.NoError(t, err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "receiving at ")
	require.True(t, ok, line)
	send := command(t, "send", address)
	send.cmd.Stdin = strings.NewReader("hello")
	require.Equal(t, cli.ExitOK, send.start().wait(), send.err.String())
	require.Equal(t, cli.ExitOK, recv.wait())
	assert.Equal(t, "hello", recv.out.String())
	require.NoError(t, messages.Close())
}
