package tcp_test

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
)

// crowdVariable makes the test binary the crowd of TestManyConnections. It holds
// an address and how many connections to make.
const crowdVariable = "VIADUCT_TCP_CROWD"

// crowd connects many times, sends one message on each connection, and then does nothing until
// its standard input ends.
func crowd(spec string) error {
	var address string
	var n int
	if _, err := fmt.Sscanf(spec, "%s %d", &address, &n); err != nil {
		return err
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	to := &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	hello := wire.Unexpected(1, 0).Append(nil)
	for i := range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, to)
		}
		if err == nil {
			_, err = unix.Write(fd, hello)
		}
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startCrowd starts it and returns when it is complete; server takes turns.
func startCrowd(t *testing.T, server *node, address string, n int) (disperse func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", crowdVariable, address, n))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() }) // again, if the test failed
	ready := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		ready <- line
	}()
	line := ""
	for end := time.Now().Add(2 * patience); line == ""; {
		require.True(t, time.Now().Before(end), "the crowd is not complete")
		server.turn(time.Millisecond)
		select {
		case line = <-ready:
			require.Equal(t, "ready\n", line)
		default:
		}
	}
	return func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	}
}

// descriptorsFor returns how many connections of n a process can have.
func descriptorsFor(t *testing.T, n int) int {
	t.Helper()
	const others = 300
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	if want := uint64(n+others) * 8 / 7; limit.Cur < want {
		raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &raised))
		limit = raised
	}
	if have := int(min(limit.Cur, 1<<30))*7/8 - others; have < n {
		t.Logf("only %d connections instead of %d: a process may have %d descriptors here", have, n, limit.Cur)
		return have
	}
	return n
}

// A load is the cost of exchanges for one endpoint.
type load struct {
	polls, asks, events, recvs int64
	took                       time.Duration
}

// measure makes two nodes exchange messages and returns the server's cost.
func measure(t *testing.T, server, client *node, toClient, toServer bmi.Addr, rounds int) load {
	t.Helper()
	tap := tapOf(server.ep)
	count := func() load {
		return load{int64(server.ep.Stats().Endpoint.Polls), tap.polls.Load(), tap.events.Load(), tap.recvs.Load(), 0}
	}
	exchange(client, server, toServer, toClient, 1, 8)
	before, began := count(), time.Now()
	for range rounds {
		exchange(client, server, toServer, toClient, 1, 8)
	}
	after := count()
	return load{after.polls - before.polls, after.asks - before.asks, after.events - before.events, after.recvs - before.recvs, time.Since(began)}
}

// TestManyConnections has twenty thousand connections to one endpoint, or as many as the limit
// of descriptors allows. An idle connection must cost little memory, and nothing while others
// exchange messages: no poll may check idle connections.
func TestManyConnections(t *testing.T) {
	const (
		bytesMax = 8 << 10 // of ours, per idle connection
		rounds   = 500
	)
	n := 20_000
	if testing.Short() || race.Enabled {
		n = 2_000 // with fewer, memory of the runtime distorts the result
	}
	n = descriptorsFor(t, n)
	at := hostPort(freshAddress())
	server := openConfig(t, bmi.Config{Listen: []string{tapped + "://" + at}})
	client := openConfig(t, bmi.Config{Methods: []string{tapped}})
	toServer := client.lookup(tapped + "://" + at)
	toClient := greet(client, server, toServer)
	hellos := 0
	server.taken = func(u *bmi.Unexpected) { hellos++ }

	alone := measure(t, server, client, toClient, toServer, rounds)
	before := heap()
	disperse := startCrowd(t, server, at, n)
	server.until("all greetings", func() bool { return hellos == n })
	each := (heap() - before) / int64(n)
	require.Equal(t, n+1, server.ep.Stats().Methods[0].Connected)
	crowded := measure(t, server, client, toClient, toServer, rounds)

	t.Logf("%d connections, %d bytes each; %d exchanges alone: %+v, beside them: %+v, time × %.2f",
		n, each, rounds, alone, crowded, float64(crowded.took)/float64(alone.took))
	require.LessOrEqual(t, each, int64(bytesMax))
	for _, l := range []load{alone, crowded} {
		// A poll asks the stack once at most, and reads only the few hot connections and those
		// with an event.
		require.LessOrEqual(t, l.asks, l.polls)
		require.LessOrEqual(t, l.recvs, 5*l.polls+2*l.events, "connections without events are read")
		require.LessOrEqual(t, l.events, int64(8*rounds), "events of connections on which nothing happens")
	}
	disperse()
	server.until("the crowd is gone", func() bool {
		server.turn(10 * time.Millisecond)
		return server.ep.Stats().Methods[0].Connected == 1
	})
	exchange(client, server, toServer, toClient, 1, 1000)
	left := heap() - before
	t.Logf("%d bytes stay behind", left)
	require.LessOrEqual(t, len(server.ep.Stats().Peers), 2)
	require.Less(t, left, int64(n*512), "memory of connections that ended")
}
