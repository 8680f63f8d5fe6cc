package tcp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/need"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
)

// This file starts programs of OrangeFS; interop_test.go talks to them.
// docs/guides/orangefs.md says which, and how OrangeFS must be configured.

const (
	orangefsVariable = "ORANGEFS_PREFIX"

	// exchangeTimeMax bounds one exchange with a program, a whole ping-pong included.
	exchangeTimeMax = 3 * time.Minute
	// childEndTimeMax is how long a program may take to end after its last message.
	childEndTimeMax = patience
	// childReadyTimeMax is how long a program may take until it listens.
	childReadyTimeMax = patience

	// eagerBytesMax is the format's limit for eager and for unexpected messages,
	// largestBytes that for expected ones.
	eagerBytesMax = 16 << 10
	largestBytes  = 16 << 20
)

// orangefs is an installation of OrangeFS.
type orangefs struct{ prefix string }

// needOrangeFS skips the test where there is no OrangeFS.
func needOrangeFS(t *testing.T) orangefs {
	t.Helper()
	prefix := os.Getenv(orangefsVariable)
	if prefix == "" {
		need.Unless(t, need.OrangeFS, fmt.Errorf("%s does not name an installation, the folder that holds bin/ (docs/guides/orangefs.md)", orangefsVariable))
	}
	return orangefs{prefix}
}

// program is the path of an installed program. A missing one fails the test, because a test
// that passes without running anything would be misleading.
func (o orangefs) program(t *testing.T, name string) string {
	t.Helper()
	for _, folder := range []string{"bin", "sbin"} {
		path := filepath.Join(o.prefix, folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	require.FailNowf(t, "program is missing", "%s is not in bin/ or sbin/ of %s=%s, see docs/guides/orangefs.md", name, orangefsVariable, o.prefix)
	return ""
}

// child is a running program.
type child struct {
	name   string
	cmd    *exec.Cmd
	input  io.WriteCloser
	output output
	ended  chan struct{}
}

// start starts a program, which is killed at the end of the test if it still runs.
func (o orangefs) start(t *testing.T, env []string, name string, args ...string) *child {
	t.Helper()
	c := &child{name: name, cmd: exec.Command(o.program(t, name), args...), ended: make(chan struct{})}
	c.output.changed = make(chan struct{}, 1)
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	// The tools may have been built against the shared library of the same prefix.
	c.cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(o.prefix, "lib"))
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Dir = t.TempDir()
	var err error
	c.input, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		_ = c.cmd.Wait() // the exit status is in ProcessState
		close(c.ended)
	}()
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("the end of the output of %s:\n%s", c.name, c.output.tail())
		}
	})
	return c
}

// kill ends the process and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended by itself
	<-c.ended
}

// wait waits until the program ends by itself and returns its output.
func (c *child) wait(t *testing.T) string {
	t.Helper()
	return c.waitFor(t, childEndTimeMax)
}

func (c *child) waitFor(t *testing.T, limit time.Duration) string {
	t.Helper()
	select {
	case <-c.ended:
	case <-time.After(limit):
		require.FailNowf(t, "program does not end", "%s still runs after %v", c.name, limit)
	}
	require.Equal(t, 0, c.cmd.ProcessState.ExitCode(), "exit status of %s", c.name)
	return c.output.String()
}

// listens waits until the program listens on a port. It reads the kernel's table, because
// the program's next accept would return a connection made only to probe.
func (c *child) listens(t *testing.T, port int) {
	t.Helper()
	require.Eventually(t, func() bool { return listening(t, port) }, childReadyTimeMax, 5*time.Millisecond,
		"%s does not listen on port %d", c.name, port)
}

// listening looks for a socket in state LISTEN (0A) in the kernel's table of
// IPv4 sockets; its second column is ADDRESS:PORT in hex, its fourth the state.
func listening(t *testing.T, port int) bool {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	require.NoError(t, err)
	want := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], want) && f[3] == "0A" {
			return true
		}
	}
	return false
}

// output collects what a program says, up to a limit.
type output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{}
}

// outputBytesMax is more than any program says unless it is stuck in a loop.
const outputBytesMax = 1 << 20

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() < outputBytesMax {
		o.buf.Write(p)
	}
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (o *output) tail() string {
	s := o.String()
	return s[max(0, len(s)-2000):]
}

// says waits until the program has printed text.
func (c *child) says(t *testing.T, text string) {
	t.Helper()
	limit := time.After(exchangeTimeMax)
	for !strings.Contains(c.output.String(), text) {
		select {
		case <-c.output.changed:
		case <-c.ended:
			require.Contains(t, c.output.String(), text, "%s has ended", c.name)
			return
		case <-limit:
			require.FailNowf(t, "program is silent", "%s did not say %q", c.name, text)
		}
	}
}

// loopback is the address of a port of this host.
func loopback(port int) string { return "tcp://127.0.0.1:" + strconv.Itoa(port) }

// endpoint is a Viaduct endpoint with one context, and the time it has.
type endpoint struct {
	*bmi.Endpoint
	*bmi.Context
	ctx context.Context
}

// openEndpoint opens an endpoint that listens on the addresses, if any.
func openEndpoint(t *testing.T, listen ...string) endpoint {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeMax)
	e, err := bmi.Open(ctx, bmi.Config{Listen: listen})
	require.NoError(t, err)
	c, err := e.OpenContext()
	require.NoError(t, err)
	t.Cleanup(func() {
		cancel()
		// The endpoint's Close closes its contexts.
		require.NoError(t, e.Close())
	})
	return endpoint{e, c, ctx}
}

// close ends the endpoint before the end of the test.
func (e endpoint) close(t *testing.T) {
	t.Helper()
	require.NoError(t, e.Endpoint.Close())
}

func (e endpoint) lookup(t *testing.T, address string) bmi.Addr {
	t.Helper()
	a, err := e.Lookup(address)
	require.NoError(t, err)
	return a
}

// takeUnexpected waits for one unexpected message. The caller releases it.
func (e endpoint) takeUnexpected(t *testing.T) bmi.Unexpected {
	t.Helper()
	u, err := e.nextUnexpected()
	require.NoError(t, err)
	return u
}

func (e endpoint) nextUnexpected() (bmi.Unexpected, error) {
	var out [1]bmi.Unexpected
	for e.ctx.Err() == nil {
		n, err := e.TestUnexpected(out[:], 100*time.Millisecond)
		if n > 0 || err != nil {
			return out[0], err
		}
	}
	return out[0], errors.New("no unexpected message came in time")
}

// complete waits for an operation that was posted.
func (e endpoint) complete(posted bmi.Posted) (int, error) {
	if posted.Done {
		return posted.Size, nil
	}
	for e.ctx.Err() == nil {
		done, ok, err := e.Test(posted.Op, time.Second)
		if err != nil {
			return 0, err
		}
		if ok {
			return done.Size, done.Err
		}
	}
	return 0, e.ctx.Err()
}

// all posts operations, as fast as it can, and waits for all of them.
func (e endpoint) all(n int, post func(i int) (bmi.Posted, error)) error {
	pending := make([]bmi.Posted, 0, n)
	for i := range n {
		posted, err := post(i)
		if err != nil {
			return fmt.Errorf("post %d: %w", i, err)
		}
		pending = append(pending, posted)
	}
	for i, posted := range pending {
		if _, err := e.complete(posted); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return nil
}

// sameBytes compares without printing megabytes when it fails.
func sameBytes(t *testing.T, want, got []byte, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	if bytes.Equal(want, got) {
		return
	}
	at := 0
	for want[at] == got[at] {
		at++
	}
	end := min(at+16, len(want))
	require.Equal(t, hex.EncodeToString(want[at:end]), hex.EncodeToString(got[at:end]), "%s, from byte %d", what, at)
}

// openConversation is the client's part of the opening.
func openConversation(t *testing.T, e endpoint, server bmi.Addr, size int) {
	t.Helper()
	var status [4]byte
	request := binary.LittleEndian.AppendUint64(nil, uint64(size))
	n, err := e.Call(e.ctx, server, 0, 0, request, status[:])
	require.NoError(t, err)
	require.Equal(t, len(status), n)
	require.Zero(t, binary.LittleEndian.Uint32(status[:]), "status of the answer")
}

// acceptConversation is the server's part of the opening.
func acceptConversation(t *testing.T, e endpoint) (client bmi.Addr, size int) {
	t.Helper()
	u := e.takeUnexpected(t)
	defer u.Release()
	require.Equal(t, bmi.Tag(0), u.Tag)
	require.Equal(t, bmi.Class(0), u.Class)
	require.Len(t, u.Data, 8)
	require.NoError(t, e.Send(e.ctx, u.From, 0, make([]byte, 4)))
	return u.From, int(binary.LittleEndian.Uint64(u.Data))
}

// counting returns size bytes of 32-bit numbers in little endian, each one more than the one
// before it. Bytes at the end that make no number are 0xff.
func counting(size, first int) []byte {
	data := make([]byte, 0, size)
	for ; len(data)+4 <= size; first++ {
		data = binary.LittleEndian.AppendUint32(data, uint32(first))
	}
	for len(data) < size {
		data = append(data, 0xff)
	}
	return data
}

// counting64 returns size bytes, a multiple of 8, of 64-bit numbers in little
// endian that count from 0.
func counting64(size int) []byte {
	data := make([]byte, 0, size)
	for i := range size / 8 {
		data = binary.LittleEndian.AppendUint64(data, uint64(i))
	}
	return data
}

// twoBuffers is what test-bmi-server-list expects: it receives into two
// buffers, the first of half the size rounded down, and each number in the
// second follows on those that are whole in the first.
func twoBuffers(size int) []byte {
	half := size / 2
	return append(counting(half, 0), counting(size-half, half/4)...)
}

// The program pingpong: the client first sends an unexpected message, a 32-bit number in network
// order, which is 1 if its pings will be unexpected and 0 if they will be expected. The server
// sends it back as an expected message. Both have tag 0. Then, for each size from 1 byte on,
// doubling, there are pingpongRounds rounds. The tag is the number of the round. The server sends
// every ping back as an expected message. Rounds of 1 byte come twice.
const (
	pingpongExpected   = 0
	pingpongUnexpected = 1

	pingpongExpectedBytesMax = 4 << 20
)

func pingpongRounds(size int) int {
	switch {
	case size >= 4<<20:
		return 250
	case size >= 2<<20:
		return 500
	case size >= 1<<20:
		return 1000
	case size >= 256<<10:
		return 2500
	case size >= 128<<10:
		return 5000
	}
	return 10000
}

// eachPing calls round for every round of a ping-pong.
func eachPing(kind int, round func(size int, tag bmi.Tag) error) error {
	last := pingpongExpectedBytesMax
	if kind == pingpongUnexpected {
		last = eagerBytesMax
	}
	for size, warm := 1, false; size <= last; {
		for tag := range pingpongRounds(size) {
			if err := round(size, bmi.Tag(tag)); err != nil {
				return fmt.Errorf("round %d of %d bytes: %w", tag, size, err)
			}
		}
		if warm {
			size *= 2
		}
		warm = true
	}
	return nil
}

// fileServer is a running file server of OrangeFS with an empty file system
// of the name viaduct.
type fileServer struct {
	*child
	port    int
	address string
	config  []byte // its configuration file
}

// startFileServer makes a file system and starts its only server, with a
// configuration file of configBytes bytes.
func startFileServer(t *testing.T, o orangefs, configBytes int) fileServer {
	t.Helper()
	port := freeport.TCP(t)
	s := fileServer{port: port, address: loopback(port)}
	folder := t.TempDir()
	s.config = fileServerConfig(t, folder, s.address, configBytes)
	path := filepath.Join(folder, "fs.conf")
	require.NoError(t, os.WriteFile(path, s.config, 0o600))
	o.start(t, nil, "pvfs2-server", path, "-f", "-a", "one").wait(t)
	s.child = o.start(t, nil, "pvfs2-server", path, "-d", "-a", "one")
	s.listens(t, port)
	return s
}

// fileServerConfig is a configuration of one server for metadata and data,
// filled up with comments.
func fileServerConfig(t *testing.T, folder, address string, size int) []byte {
	t.Helper()
	config := fmt.Appendf(nil, `<Defaults>
	UnexpectedRequests 50
	LogFile %[1]s/log
	BMIModules bmi_tcp
	FlowModules flowproto_multiqueue
	DataStorageSpace %[1]s/data
	MetadataStorageSpace %[1]s/meta
	TCPBindSpecific yes
</Defaults>
<Aliases>
	Alias one %[2]s
</Aliases>
<Filesystem>
	Name viaduct
	ID 1000
	RootHandle 1048576
	<MetaHandleRanges>
		Range one 3-4611686018427387904
	</MetaHandleRanges>
	<DataHandleRanges>
		Range one 4611686018427387905-9223372036854775806
	</DataHandleRanges>
	<StorageHints>
		TroveSyncMeta no
		TroveSyncData no
		TroveMethod alt-aio
	</StorageHints>
</Filesystem>
`, folder, address)
	require.LessOrEqual(t, len(config), size, "the file without comments")
	for len(config) < size {
		line := min(80, size-len(config))
		config = append(config, strings.Repeat("#", line-1)+"\n"...)
	}
	return config
}

// relay is between clients of a file server and the server. It knows only this about the
// file protocol: every request has one answer with the same tag, the configuration contains
// the server's address, and after the answer to an I/O request messages with the same tag
// may go either way.
type relay struct {
	endpoint
	server   bmi.Addr
	port     int // the server's
	address  string
	tag      atomic.Uint32 // the last that the relay used with the server
	requests atomic.Int64
	flows    atomic.Int64 // bytes
	work     sync.WaitGroup
}

// relayBytesMax is enough for any answer and for any message of a flow.
const relayBytesMax = 512 << 10

// startRelay starts a relay, which ends with the test.
func startRelay(t *testing.T, server fileServer) *relay {
	t.Helper()
	r := &relay{address: loopback(freeport.TCP(t)), port: server.port}
	require.Len(t, r.address, len(server.address), "addresses of one length, so that one can replace the other")
	r.endpoint = openEndpoint(t, r.address)
	r.server = r.lookup(t, server.address)
	ctx, cancel := context.WithCancel(r.ctx)
	r.ctx = ctx
	t.Cleanup(func() {
		cancel()
		r.work.Wait()
	})
	r.work.Go(func() {
		for {
			u, err := r.nextUnexpected()
			if err != nil {
				return // the end of the test
			}
			r.requests.Add(1)
			r.work.Go(func() { r.serve(t, u) })
		}
	})
	return r
}

// serve forwards one request and its answer.
func (r *relay) serve(t *testing.T, u bmi.Unexpected) {
	defer u.Release()
	if !assert.GreaterOrEqual(t, len(u.Data), requestBytes) {
		return
	}
	op := binary.LittleEndian.Uint32(u.Data[8:])
	tag := bmi.Tag(r.tag.Add(1))
	answer := make([]byte, relayBytesMax)
	n, err := r.Call(r.ctx, r.server, 0, tag, u.Data, answer)
	if !assert.NoError(t, err, "request %d to the server", op) {
		return
	}
	if op == opGetConfig {
		theirs := fmt.Appendf(nil, ":%d", r.port)
		ours := r.address[strings.LastIndex(r.address, ":"):]
		copy(answer, bytes.ReplaceAll(answer[:n], theirs, []byte(ours)))
	}
	if !assert.NoError(t, r.Send(r.ctx, u.From, u.Tag, answer[:n]), "answer to request %d", op) {
		return
	}
	if op == opIO {
		r.work.Go(func() { r.pass(u.From, u.Tag, r.server, tag) })
		r.work.Go(func() { r.pass(r.server, tag, u.From, u.Tag) })
	}
}

// pass moves messages one way until one side or the test ends. The tools notice any loss.
func (r *relay) pass(from bmi.Addr, fromTag bmi.Tag, to bmi.Addr, toTag bmi.Tag) {
	buf := make([]byte, relayBytesMax)
	for {
		n, err := r.Recv(r.ctx, from, fromTag, buf)
		if err != nil {
			return
		}
		if r.Send(r.ctx, to, toTag, buf[:n]) != nil {
			return
		}
		r.flows.Add(int64(n))
	}
}
