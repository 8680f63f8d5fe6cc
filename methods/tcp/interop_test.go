package tcp_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/need"
)

// These tests exchange messages with programs of OrangeFS that speak its own
// bmi_tcp: its BMI test programs, its file server and its tools. They skip
// without ORANGEFS_PREFIX, see docs/guides/orangefs.md.
//
// The test programs come in pairs. Each pair opens its conversation alike:
//
//	client → server   unexpected, tag 0: 8 bytes, little endian, the size S
//	                  that the server shall expect
//	server → client   expected, tag 0: 4 bytes, a status, 0 for success
//	client → server   expected, tag 0: the data
//
// The server then ends with status 0, whatever it found; it prints the errors that it
// found.

// TestOrangeFSServerTakesList sends to test-bmi-server-list, which receives the
// data into a list of two buffers and checks every number in them.
func TestOrangeFSServerTakesList(t *testing.T) {
	o := needOrangeFS(t)
	for _, size := range []int{8, 1000, eagerBytesMax - 1, eagerBytesMax, eagerBytesMax + 1, 1<<20 + 3, 8 << 20, largestBytes} {
		for _, pieces := range []int{1, 3} {
			t.Run(fmt.Sprintf("size=%d/pieces=%d", size, pieces), func(t *testing.T) {
				said := sendToListServer(t, o, twoBuffers(size), pieces)
				require.NotContains(t, said, "Validation failure")
				require.NotContains(t, said, "Short recv")
			})
		}
	}
}

// TestOrangeFSServerSeesDamage proves that the program checks what it receives.
func TestOrangeFSServerSeesDamage(t *testing.T) {
	o := needOrangeFS(t)
	data := twoBuffers(1 << 20)
	data[777_777] ^= 1
	require.Contains(t, sendToListServer(t, o, data, 1), "Validation failure")
}

// sendToListServer returns what the server said.
func sendToListServer(t *testing.T, o orangefs, data []byte, pieces int) string {
	t.Helper()
	address, server := startServer(t, o, "test-bmi-server-list")
	e := openEndpoint(t)
	to := e.lookup(t, address)
	openConversation(t, e, to, len(data))
	if pieces == 1 {
		require.NoError(t, e.Send(e.ctx, to, 0, data))
		return server.wait(t)
	}
	var list [][]byte
	for rest, left := data, pieces; left > 0; left-- {
		n := len(rest) / left
		list, rest = append(list, rest[:n]), rest[n:]
	}
	posted, err := e.PostSendList(to, 0, list, nil)
	require.NoError(t, err)
	n, err := e.complete(posted)
	require.NoError(t, err)
	require.Equal(t, len(data), n)
	return server.wait(t)
}

// startServer starts a test program that listens.
func startServer(t *testing.T, o orangefs, name string, args ...string) (address string, c *child) {
	t.Helper()
	port := freeport.TCP(t)
	address = loopback(port)
	c = o.start(t, nil, name, append([]string{"-h", address}, args...)...)
	c.listens(t, port)
	return address, c
}

// TestOrangeFSServerShortMessage sends fewer bytes than the server expects. It
// wants 15000 and names any other size that comes: of no bytes at all, in
// eager mode, and in rendezvous mode.
func TestOrangeFSServerShortMessage(t *testing.T) {
	o := needOrangeFS(t)
	for _, size := range []int{0, 1, 15000, eagerBytesMax + 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			address, server := startServer(t, o, "test-bmi-server")
			e := openEndpoint(t)
			to := e.lookup(t, address)
			openConversation(t, e, to, 32000)
			require.NoError(t, e.Send(e.ctx, to, 0, make([]byte, size)))
			said := server.wait(t)
			if size == 15000 {
				require.Contains(t, said, "rev_lookup() output")
			} else {
				require.Contains(t, said, fmt.Sprintf("actual_size: %d\n", size))
			}
		})
	}
}

// TestOrangeFSServerEarlyMessage sends to test-bmi-server-eagerbug. After the 15000 bytes the
// program sleeps for 3 s, while the first of two messages of 6 bytes with tag 1 arrives. Only then
// does it post a receive into two buffers.
func TestOrangeFSServerEarlyMessage(t *testing.T) {
	o := needOrangeFS(t)
	t.Parallel()
	address, server := startServer(t, o, "test-bmi-server-eagerbug")
	e := openEndpoint(t)
	to := e.lookup(t, address)
	openConversation(t, e, to, 32000)
	require.NoError(t, e.Send(e.ctx, to, 0, make([]byte, 15000)))
	for range 2 {
		require.NoError(t, e.Send(e.ctx, to, 1, []byte("aaaccc")))
	}
	require.Equal(t, 2, strings.Count(server.wait(t), "SUCCESS!"))
}

// TestOrangeFSClientSends receives the data of test-bmi-client: always 15000 bytes, although it
// announces other sizes.
func TestOrangeFSClientSends(t *testing.T) {
	o := needOrangeFS(t)
	for _, announced := range []int{15000, 32000, 4 << 20} {
		t.Run(fmt.Sprint(announced), func(t *testing.T) {
			e, address := openServer(t)
			conversation(t, o, e, address, announced)
		})
	}
}

// conversation is a complete conversation with test-bmi-client.
func conversation(t *testing.T, o orangefs, e endpoint, address string, announced int) {
	t.Helper()
	client := o.start(t, nil, "test-bmi-client", "-h", address, "-s", fmt.Sprint(announced))
	from, size := acceptConversation(t, e)
	require.Equal(t, announced, size)
	n, err := e.Recv(e.ctx, from, 0, make([]byte, size))
	require.NoError(t, err)
	require.Equal(t, 15000, n)
	require.NotContains(t, client.wait(t), "failure")
}

// openServer opens an endpoint that listens.
func openServer(t *testing.T) (e endpoint, address string) {
	t.Helper()
	address = loopback(freeport.TCP(t))
	return openEndpoint(t, address), address
}

// acceptFrom starts a client program and the endpoint that it connects to.
func acceptFrom(t *testing.T, o orangefs, name string, args ...string) (endpoint, *child) {
	t.Helper()
	e, address := openServer(t)
	return e, o.start(t, nil, name, append([]string{"-h", address}, args...)...)
}

// TestOrangeFSClientSendsList takes the list that test-bmi-client-list sends:
// 1024, 2048 and 3072 bytes with numbers that count on.
func TestOrangeFSClientSendsList(t *testing.T) {
	o := needOrangeFS(t)
	e, client := acceptFrom(t, o, "test-bmi-client-list")
	from, size := acceptConversation(t, e)
	require.Equal(t, 6144, size)
	data := make([]byte, size)
	posted, err := e.PostRecvList(from, 0, [][]byte{data[:100], data[100:3001], data[3001:]}, nil)
	require.NoError(t, err)
	n, err := e.complete(posted)
	require.NoError(t, err)
	sameBytes(t, counting(size, 0), data[:n], "what the client sent")
	client.wait(t)
}

// TestOrangeFSClientEarlyMessage takes the messages of test-bmi-client-eagerbug:
// 15000 bytes with tag 0, 6 bytes with tag 1, and after 10 s 6 bytes more. It
// asks for tag 1 before tag 0, so that the first message has to wait.
func TestOrangeFSClientEarlyMessage(t *testing.T) {
	o := needOrangeFS(t)
	need.Soak(t, "the program sleeps for 10 s")
	t.Parallel()
	e, client := acceptFrom(t, o, "test-bmi-client-eagerbug")
	from, _ := acceptConversation(t, e)
	for _, want := range []struct {
		tag  bmi.Tag
		data string
	}{{1, "aaaccc"}, {0, ""}, {1, "aaaccc"}} {
		data := make([]byte, 32000)
		n, err := e.Recv(e.ctx, from, want.tag, data)
		require.NoError(t, err)
		if want.tag == 1 {
			require.Equal(t, want.data, string(data[:n]))
		} else {
			require.Equal(t, 15000, n)
		}
	}
	client.wait(t)
}

// driver-bw-multi runs here as one rank of an MPI job that has no other processes
// (docs/guides/orangefs.md). Rank 0 is the server, the others are clients. A byte on its input, or
// the end of the input, stands for a barrier. After the first barrier, a client sends an unexpected
// message of 4 bytes. Its contents do not matter. After the second barrier it posts all its
// messages at once, all of one size and with tag 0; their 64-bit numbers count on from the first
// message to the last. After the third it leaves.
var bandwidthSizes = []struct{ size, messages int }{
	{8, 10_000}, {eagerBytesMax, 500}, {eagerBytesMax + 8, 500}, {1 << 20, 40}, {largestBytes, 3},
}

const bandwidthClients = 3

// startBandwidth starts one rank of the program.
func startBandwidth(t *testing.T, o orangefs, port, rank, size, messages int) *child {
	t.Helper()
	env := []string{
		fmt.Sprintf("LONELY_MPI_PORT=%d", port),
		fmt.Sprintf("LONELY_MPI_RANK=%d", rank),
		fmt.Sprintf("LONELY_MPI_SIZE=%d", 1+bandwidthClients),
	}
	return o.start(t, env, "driver-bw-multi", "-m", "bmi_tcp", "-l", fmt.Sprint(size), "-t", fmt.Sprint(size*messages))
}

// TestOrangeFSBandwidthServer sends to the program from several endpoints at once.
func TestOrangeFSBandwidthServer(t *testing.T) {
	o := needOrangeFS(t)
	for _, c := range bandwidthSizes {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			port := freeport.TCP(t)
			server := startBandwidth(t, o, port, 0, c.size, c.messages)
			server.listens(t, port)
			require.NoError(t, server.input.Close())
			data := make([]byte, c.size)
			var wg sync.WaitGroup
			for range bandwidthClients {
				e := openEndpoint(t)
				to := e.lookup(t, loopback(port))
				require.NoError(t, e.SendUnexpected(e.ctx, to, 0, 0, make([]byte, 4)))
				wg.Go(func() {
					assert.NoError(t, e.all(c.messages, func(int) (bmi.Posted, error) { return e.PostSend(to, 0, data, nil) }))
				})
			}
			wg.Wait()
			require.Contains(t, server.wait(t), "bmi server")
		})
	}
}

// TestOrangeFSBandwidthClient receives from several of the programs at once.
func TestOrangeFSBandwidthClient(t *testing.T) {
	o := needOrangeFS(t)
	for _, c := range bandwidthSizes {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			port := freeport.TCP(t)
			e := openEndpoint(t, loopback(port))
			var clients []*child
			for rank := 1; rank <= bandwidthClients; rank++ {
				client := startBandwidth(t, o, port, rank, c.size, c.messages)
				_, err := client.input.Write([]byte("12"))
				require.NoError(t, err)
				clients = append(clients, client)
			}
			want := counting64(c.size * c.messages)
			for range clients {
				u := e.takeUnexpected(t)
				got := make([]byte, len(want))
				require.NoError(t, e.all(c.messages, func(i int) (bmi.Posted, error) {
					return e.PostRecv(u.From, 0, got[i*c.size:][:c.size], nil)
				}))
				sameBytes(t, want, got, "the messages of one client")
				u.Release()
			}
			for _, client := range clients {
				require.NoError(t, client.input.Close())
				client.wait(t)
			}
		})
	}
}

// TestOrangeFSPingPongServer is the client of OrangeFS's ping-pong server. The
// receive is posted before the ping in even rounds and after it in odd ones.
func TestOrangeFSPingPongServer(t *testing.T) {
	o := needOrangeFS(t)
	need.Soak(t, "the program's schedule is 10 GiB long")
	for name, kind := range map[string]int{"expected": pingpongExpected, "unexpected": pingpongUnexpected} {
		t.Run(name, func(t *testing.T) {
			address, server := startServer(t, o, "pingpong", "-s")
			e := openEndpoint(t)
			to := e.lookup(t, address)
			request := binary.BigEndian.AppendUint32(nil, uint32(kind))
			var answer [4]byte
			n, err := e.Call(e.ctx, to, 0, 0, request, answer[:])
			require.NoError(t, err)
			sameBytes(t, request, answer[:n], "the server's answer")

			pattern := counting(pingpongExpectedBytesMax+4*256, 0)
			back := make([]byte, pingpongExpectedBytesMax)
			require.NoError(t, eachPing(kind, func(size int, tag bmi.Tag) error {
				data := pattern[4*(tag%256):][:size]
				n, err := e.pingPong(kind, to, tag, data, back[:size])
				if err != nil {
					return err
				}
				if size <= 64<<10 || tag%16 == 0 { // the rest would be all that the test does
					sameBytes(t, data, back[:n], "what came back")
				}
				return nil
			}))
			require.NotContains(t, server.wait(t), "fail")
		})
	}
}

// pingPong is one round.
func (e endpoint) pingPong(kind int, to bmi.Addr, tag bmi.Tag, data, back []byte) (int, error) {
	var posted bmi.Posted
	var err error
	early := tag%2 == 0
	if early {
		if posted, err = e.PostRecv(to, tag, back, nil); err != nil {
			return 0, err
		}
	}
	if kind == pingpongUnexpected {
		err = e.SendUnexpected(e.ctx, to, 0, tag, data)
	} else {
		err = e.Send(e.ctx, to, tag, data)
	}
	if err != nil {
		return 0, err
	}
	if early {
		return e.complete(posted)
	}
	return e.Recv(e.ctx, to, tag, back)
}

// TestOrangeFSPingPongClient is the server of OrangeFS's ping-pong client,
// which with -r compares checksums of expected messages. Its data are bytes
// that count up, so that the server can check unexpected ones too.
func TestOrangeFSPingPongClient(t *testing.T) {
	o := needOrangeFS(t)
	need.Soak(t, "the program's schedule is 10 GiB long")
	for name, kind := range map[string]int{"expected": pingpongExpected, "unexpected": pingpongUnexpected} {
		t.Run(name, func(t *testing.T) {
			args := []string{"-c", "-r"}
			if kind == pingpongUnexpected {
				args = append(args, "-u")
			}
			e, client := acceptFrom(t, o, "pingpong", args...)
			servePingPong(t, e, kind, func(round int, size int) {
				if round == 0 && size == 2*eagerBytesMax {
					// The ping waits, because no receive is posted for it; others do
					// not.
					conversation(t, o, e, e.Addresses()[0], 32000)
				}
			})
			said := client.wait(t)
			require.NotContains(t, said, "Mismatch")
			require.NotContains(t, said, "failed")
			last := pingpongExpectedBytesMax
			if kind == pingpongUnexpected {
				last = eagerBytesMax
			}
			require.Contains(t, said, fmt.Sprintf("\n%10d ", last), "the row of the last size")
		})
	}
}

// TestOrangeFSPingPongClientSeesDamage proves that the client compares, which
// it does only if it was built with zlib.
func TestOrangeFSPingPongClientSeesDamage(t *testing.T) {
	o := needOrangeFS(t)
	e, client := acceptFrom(t, o, "pingpong", "-c", "-r")
	done := make(chan struct{})
	go func() {
		defer close(done)
		u, err := e.nextUnexpected()
		if err != nil {
			return
		}
		defer u.Release()
		_ = e.Send(e.ctx, u.From, 0, u.Data)
		_ = eachPing(pingpongExpected, func(size int, tag bmi.Tag) error {
			buf := make([]byte, size)
			if _, err := e.Recv(e.ctx, u.From, tag, buf); err != nil {
				return err // the client was killed
			}
			buf[size/2] ^= 1
			return e.Send(e.ctx, u.From, tag, buf)
		})
	}()
	client.says(t, "CRC Mismatch")
	client.kill()
	e.close(t)
	<-done
}

// servePingPong sends every ping back. It calls before before it asks for one.
func servePingPong(t *testing.T, e endpoint, kind int, before func(round, size int)) {
	t.Helper()
	u := e.takeUnexpected(t)
	from := u.From
	require.Equal(t, binary.BigEndian.AppendUint32(nil, uint32(kind)), u.Data)
	require.NoError(t, e.Send(e.ctx, from, 0, u.Data))
	u.Release()

	buf := make([]byte, pingpongExpectedBytesMax)
	require.NoError(t, eachPing(kind, func(size int, tag bmi.Tag) error {
		before(int(tag), size)
		if kind == pingpongExpected {
			n, err := e.Recv(e.ctx, from, tag, buf[:size])
			if err != nil {
				return err
			}
			requireCountingUp(t, size, buf[:n])
			return e.Send(e.ctx, from, tag, buf[:n])
		}
		u, err := e.nextUnexpected()
		if err != nil {
			return err
		}
		defer u.Release()
		require.Equal(t, tag, u.Tag)
		require.Equal(t, from, u.From)
		requireCountingUp(t, size, u.Data)
		return e.Send(e.ctx, from, tag, u.Data)
	}))
}

// requireCountingUp checks a ping of the client: each byte is one more than the byte before it. But
// the client sends a random part of its buffer, and the first four bytes of the buffer are its
// opening message.
func requireCountingUp(t *testing.T, size int, data []byte) {
	t.Helper()
	require.Len(t, data, size)
	for i := 5; i < len(data); i++ {
		if data[i] != data[i-1]+1 {
			require.FailNowf(t, "wrong data", "byte %d of %d is %d after %d", i, size, data[i], data[i-1])
		}
	}
}

// The requests of OrangeFS's file protocol that need only the common header: version
// 7.0, encoding 2, the operation, and then zeros for an empty capability and no hints.
// Answers repeat the first twelve bytes and continue with a status, 0 for success.
const (
	opIO        = 3
	opGetConfig = 13
	opNoop      = 17

	requestBytes = 60
	answerBytes  = 16

	// Bytes around the file in an answer to opGetConfig, without what makes
	// its length a multiple of 8.
	beforeFile, afterFile = 28, 1
)

func request(op uint32) []byte {
	b := make([]byte, 0, requestBytes)
	for _, v := range []uint32{7000, 2, op} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b[:requestBytes]
}

// requireSuccess checks the beginning of an answer.
func requireSuccess(t *testing.T, op uint32, answer []byte) {
	t.Helper()
	want := append(request(op)[:12], 0, 0, 0, 0)
	require.GreaterOrEqual(t, len(answer), len(want))
	sameBytes(t, want, answer[:len(want)], "version, encoding, operation and status")
}

// TestOrangeFSFileServerConfig asks the file server for its configuration: the
// answer is 28 bytes, the file as it is, a zero, and zeros up to a multiple of
// 8. So the length of the file decides whether the server answers in eager or in
// rendezvous mode. Tags are 32 bits; the server sends those from 2^31 on back
// as negative numbers of 64.
func TestOrangeFSFileServerConfig(t *testing.T) {
	o := needOrangeFS(t)
	for _, size := range []int{1024, eagerBytesMax, eagerBytesMax + 8, 48 << 10} {
		t.Run(fmt.Sprintf("answer=%d", size), func(t *testing.T) {
			server := startFileServer(t, o, size-beforeFile-afterFile)
			e := openEndpoint(t)
			to := e.lookup(t, server.address)
			for _, tag := range []bmi.Tag{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 5, 1<<32 - 1} {
				answer := make([]byte, 64<<10)
				n, err := e.Call(e.ctx, to, 0, tag, request(opGetConfig), answer)
				require.NoError(t, err, "tag %#x", tag)
				require.Equal(t, size, n)
				requireSuccess(t, opGetConfig, answer)
				sameBytes(t, server.config, answer[beforeFile:n-afterFile], "the configuration")
			}
		})
	}
}

// TestOrangeFSFileServerPipeline sends many requests at once. Every answer must have the tag of its
// request.
func TestOrangeFSFileServerPipeline(t *testing.T) {
	o := needOrangeFS(t)
	const requests, window = 4096, 64
	server := startFileServer(t, o, 1000)
	e := openEndpoint(t)
	to := e.lookup(t, server.address)
	var wg sync.WaitGroup
	for first := range window {
		wg.Go(func() {
			for i := first; i < requests; i += window {
				op, size := uint32(opNoop), answerBytes
				if i%3 == 0 {
					op, size = opGetConfig, 1032
				}
				answer := make([]byte, size)
				n, err := e.Call(e.ctx, to, 0, bmi.Tag(i), request(op), answer)
				if !assert.NoError(t, err) || !assert.Equal(t, size, n) {
					return
				}
				assert.Equal(t, op, binary.LittleEndian.Uint32(answer[8:]), "operation")
			}
		})
	}
	wg.Wait()
}

// TestOrangeFSFileServerHeldBack leaves an answer in rendezvous mode without a receive:
// its server waits, another server does not, and nothing is lost.
func TestOrangeFSFileServerHeldBack(t *testing.T) {
	o := needOrangeFS(t)
	const size = 60 << 10
	slow, other := startFileServer(t, o, size), startFileServer(t, o, 1000)
	e := openEndpoint(t)
	to, toOther := e.lookup(t, slow.address), e.lookup(t, other.address)
	require.NoError(t, e.SendUnexpected(e.ctx, to, 0, 1, request(opGetConfig)))
	for tag := range bmi.Tag(1000) {
		var answer [answerBytes]byte
		_, err := e.Call(e.ctx, toOther, 0, tag, request(opNoop), answer[:])
		require.NoError(t, err)
		requireSuccess(t, opNoop, answer[:])
	}
	answer := make([]byte, size+1024)
	n, err := e.Recv(e.ctx, to, 1, answer)
	require.NoError(t, err)
	requireSuccess(t, opGetConfig, answer[:n])
	sameBytes(t, slow.config, answer[beforeFile:][:size], "the configuration")
}

// TestOrangeFSTools puts Viaduct between OrangeFS's tools and its file server:
// as the server of the tools and as a client of the server. Files that
// are copied in and out come back as they were.
func TestOrangeFSTools(t *testing.T) {
	o := needOrangeFS(t)
	server := startFileServer(t, o, 1000)
	r := startRelay(t, server)
	folder := t.TempDir()
	tab := filepath.Join(folder, "tab")
	require.NoError(t, os.WriteFile(tab, []byte(r.address+"/viaduct /viaduct pvfs2 defaults 0 0\n"), 0o600))
	run := func(name string, args ...string) string {
		t.Helper()
		return o.start(t, []string{"PVFS2TAB_FILE=" + tab}, name, args...).wait(t)
	}
	require.Contains(t, run("pvfs2-ping", "-m", "/viaduct"), "appears to be correctly configured")
	run("pvfs2-mkdir", "/viaduct/folder")
	for _, size := range []int{0, 5, 10_000, 300_000, 20<<20 + 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			from := filepath.Join(folder, "from")
			to := filepath.Join(folder, "to")
			there := fmt.Sprintf("/viaduct/folder/%d", size)
			want := counting(size, size)
			require.NoError(t, os.WriteFile(from, want, 0o600))
			run("pvfs2-cp", from, there)
			require.Contains(t, run("pvfs2-ls", "-l", "/viaduct/folder"), fmt.Sprintf(" %d ", size))
			run("pvfs2-cp", there, to)
			got, err := os.ReadFile(to)
			require.NoError(t, err)
			sameBytes(t, want, got, "the copy of the copy")
		})
	}
	require.Greater(t, r.requests.Load(), int64(50), "requests that went through the relay")
	require.Greater(t, r.flows.Load(), int64(40<<20), "bytes of file data that went through the relay")
}
