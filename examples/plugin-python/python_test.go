//go:build linux

package python

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/plugins"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// interpreter is the Python in the plugin's first line, for which Debian has gRPC.
const interpreter = "/usr/bin/python3"

func load(t *testing.T, o plugins.Options) *plugins.Plugin {
	t.Helper()
	need.Python(t, "grpc", "google.protobuf", "cryptography")
	path, err := filepath.Abs("bmi-method-pyloop")
	require.NoError(t, err)
	p, err := plugins.Load(t.Context(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Unload(context.Background())) })
	return p
}

func subject(methodtest.T) *methodtest.Subject {
	return &methodtest.Subject{
		Address: func(name string) string { return "pyloop://" + name },
		Ranges: func(string) (inside, outside []string) {
			return []string{"pyloop://*", "pyloop://mt-*-?"}, []string{"pyloop://?", "tcp://*"}
		},
	}
}

// TestConformance: a method in Python works like any other.
func TestConformance(t *testing.T) {
	load(t, plugins.Options{})
	methodtest.RunTests(t, methodtest.All.Brief(1, 4), subject)
}

// TestPlaintext: it also works without TLS.
func TestPlaintext(t *testing.T) {
	load(t, plugins.Options{Plaintext: true})
	methodtest.RunTests(t, methodtest.Tests{find(t, "SendRecv"), find(t, "Unexpected")}, subject)
}

func find(t *testing.T, name string) methodtest.Test {
	test, ok := methodtest.All.Find(name)
	require.True(t, ok)
	return test
}

// open opens an endpoint and a context of it.
func open(t *testing.T, name string) (*bmi.Endpoint, *bmi.Context) {
	t.Helper()
	patient := bmi.Limits{DrainTimeMax: wallclock.Patience} // a busy machine drains slowly
	e, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"pyloop://" + name}, Limits: patient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	c, err := e.OpenContext()
	require.NoError(t, err)
	return e, c
}

// TestCloseSendsWhatWasPosted: the call Close does not overtake the stream.
func TestCloseSendsWhatWasPosted(t *testing.T) {
	load(t, plugins.Options{})
	_, _ = open(t, "there")
	for range 5 {
		e, c := open(t, "here")
		to, err := e.Lookup("pyloop://there")
		require.NoError(t, err)
		const count = 100
		for range count {
			_, err := c.PostSend(to, 1, make([]byte, 100), nil)
			require.NoError(t, err)
		}
		require.NoError(t, e.Close())
		var out [count]bmi.Completion
		n, err := c.TestContext(out[:], 0)
		require.NoError(t, err)
		require.Equal(t, count, n)
		for _, completion := range out {
			require.NoError(t, completion.Err)
		}
	}
}

// TestKilled: the plugin is restarted, and endpoints keep their addresses.
func TestKilled(t *testing.T) {
	p := load(t, plugins.Options{Backoff: 10 * time.Millisecond})
	to, _ := open(t, "to")
	e, from := open(t, "from")
	address, err := e.Lookup("pyloop://to")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	require.Eventually(t, func() bool {
		sent, err := from.PostSendUnexpected(address, 1, 2, []byte("again"), nil)
		if err != nil || sent.Done {
			return err == nil
		}
		c, done, err := from.Test(sent.Op, 10*time.Second)
		return err == nil && done && c.Err == nil
	}, wallclock.Patience, 10*time.Millisecond)
	require.Equal(t, 1, p.Restarts())
	var got [1]bmi.Unexpected
	require.Eventually(t, func() bool {
		n, err := to.TestUnexpected(got[:], time.Second)
		require.NoError(t, err)
		return n == 1
	}, wallclock.Patience, time.Millisecond)
	require.Equal(t, "again", string(got[0].Data))
	got[0].Release()
}

// TestHeld: a session reads no more from its program than it can pass on. It took everything that the program posted, 16 MiB at a
// time, and kept it until there were receives.
func TestHeld(t *testing.T) {
	need.Python(t, "grpc", "google.protobuf", "cryptography")
	out, err := exec.Command(interpreter, "held.py").CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestByHand: a user who starts the plugin gets an explanation.
func TestByHand(t *testing.T) {
	need.Python(t, "grpc", "google.protobuf", "cryptography")
	out, err := exec.Command("./bmi-method-pyloop").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "bmi plugins check")
}

// A program starts the plugin itself, to see what package process hides.
type program struct {
	cmd    *exec.Cmd
	socket string   // where the plugin serves
	alive  *os.File // closing it means that the program has ended
}

func start(t *testing.T, env ...string) *program {
	t.Helper()
	need.Python(t, "grpc", "google.protobuf", "cryptography")
	ours, theirs, err := os.Pipe()
	require.NoError(t, err)
	p := &program{cmd: exec.Command("./bmi-method-pyloop"), alive: theirs}
	p.cmd.Env = append(env, process.CookieKey+"="+process.CookieValue, process.SocketKey+"=3", "PLUGIN_UNIX_SOCKET_DIR="+t.TempDir())
	p.cmd.ExtraFiles = []*os.File{ours}
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	require.NoError(t, ours.Close())
	t.Cleanup(func() {
		_ = p.alive.Close()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	fields := strings.Split(strings.TrimSpace(line), "|")
	require.GreaterOrEqual(t, len(fields), 5)
	require.Equal(t, []string{"1", "1", "unix"}, fields[:3])
	p.socket = fields[3]
	return p
}

// TestOrphan: the plugin ends when its program has ended.
func TestOrphan(t *testing.T) {
	p := start(t)
	require.NoError(t, p.alive.Close())
	require.NoError(t, p.cmd.Wait())
}

// TestStrangers: only the program that started the plugin may talk to it.
func TestStrangers(t *testing.T) {
	mine, other := certificate(t), certificate(t)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: mine.Certificate[0]})
	p := start(t, "PLUGIN_CLIENT_CERT="+string(block))
	for name, c := range map[string]struct {
		secret credentials.TransportCredentials
		ok     bool
	}{
		"the program":         {secret(mine), true},
		"another certificate": {secret(other), false},
		"no certificate":      {secret(), false},
		"no TLS":              {insecure.NewCredentials(), false},
	} {
		conn, err := grpc.NewClient("unix:"+p.socket, grpc.WithTransportCredentials(c.secret), grpc.WithAuthority("localhost"))
		require.NoError(t, err)
		_, err = proto.NewMethodClient(conn).Describe(t.Context(), &proto.DescribeRequest{})
		require.Equal(t, c.ok, err == nil, "%s: %v", name, err)
		require.NoError(t, conn.Close())
	}
}

// certificate makes a certificate as go-plugin does.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}, &x509.Certificate{}, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func secret(own ...tls.Certificate) credentials.TransportCredentials {
	// go-plugin checks whether it is the right plugin; this test does not.
	return credentials.NewTLS(&tls.Config{Certificates: own, InsecureSkipVerify: true, NextProtos: []string{"h2"}})
}

// TestHostile: a program that breaks the rules loses only its session.
func TestHostile(t *testing.T) {
	p := start(t)
	conn, err := grpc.NewClient("unix:"+p.socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"))
	require.NoError(t, err)
	defer conn.Close()
	c := proto.NewMethodClient(conn)
	recv := &proto.Record{Kind: proto.Kind_RECV, Op: 1, Peer: 1}
	peer := &proto.Record{Kind: proto.Kind_PEER, Peer: 1, Text: "pyloop://nobody"}
	for i, records := range [][]*proto.Record{
		{{Kind: proto.Kind_DONE}},
		{{Kind: 99}},
		{{Kind: proto.Kind_DROP, Peer: 7}},
		{peer, peer},
		{{Kind: proto.Kind_PEER, Peer: 1 << 63, Text: "pyloop://nobody"}},
		{peer, recv, recv},
	} {
		session := uint64(i + 1)
		r, err := c.Open(t.Context(), &proto.OpenRequest{Session: session, Method: "pyloop", Listen: []string{"pyloop://here"}})
		require.NoError(t, err)
		require.Nil(t, r.Failure, "the session before has given the name back")
		s, err := c.Data(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Send(&proto.Record{Kind: proto.Kind_ATTACH, Session: session}))
		for _, record := range records {
			require.NoError(t, s.Send(record))
		}
		for err == nil {
			_, err = s.Recv()
		}
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%v: %v", records, err)
	}
}
