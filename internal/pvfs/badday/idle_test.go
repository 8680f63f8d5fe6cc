package badday_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// idleClients is how many clients are connected and idle, and idleBytesMax how much of the machine's memory a server may use
// then.
const (
	idleClients      = 1000
	idleClientsShort = 200 // with -short
	idleBytesMax     = 64 << 20
)

// TestIdleClients connects clients over tcp to a pvfsd. Each mounts, reads a file and then is silent. The test measures the
// memory of the process. Other clients are served as before, and when the idle clients have gone, so have their connections.
func TestIdleClients(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector multiplies memory, which is what is measured here")
	}
	f := newFileSystem(t, "tcp", 1, nil)
	f.start()
	pid := f.servers[0].cmd.Process.Pid
	m := f.mount(patient())
	e := entryOf("file")
	require.NoError(t, write(m, "/file", e))
	alone, openAlone := resident(t, pid), sockets(t, pid)

	const atOnce = 20
	count := idleClients
	if testing.Short() {
		count = idleClientsShort
	}
	clients, errs := make([]*client.FS, count), make([]error, count)
	for from := 0; from < count; from += atOnce {
		var wait sync.WaitGroup
		for i := from; i < from+atOnce; i++ {
			wait.Go(func() { clients[i], errs[i] = f.reader(e) })
		}
		wait.Wait()
	}
	require.NoError(t, errors.Join(errs...))
	full := resident(t, pid)
	require.GreaterOrEqual(t, sockets(t, pid), openAlone+count, "all of them are connected")
	t.Logf("resident memory: %.1f MiB with one client, %.1f MiB with %d idle ones more", mib(alone), mib(full), count)
	require.LessOrEqual(t, full, int64(idleBytesMax))
	require.NoError(t, write(m, "/file", e))
	for _, c := range clients {
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool { return sockets(t, pid) <= openAlone+2 }, far, tick, "connections stay behind")
}

// reader is a client that has read a file.
func (f *fileSystem) reader(e entry) (*client.FS, error) {
	c, err := client.Mount(background, f.servers[0].address+"/"+f.name, client.Options{Objects: -1, Names: -1})
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(c, "file")
	if err == nil && !bytes.Equal(data, e.bytes()) {
		err = errors.New("other bytes than were written")
	}
	return c, err
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// resident is the memory that a process uses, in bytes.
func resident(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			require.NoError(t, err)
			return n << 10
		}
	}
	require.FailNow(t, "no VmRSS")
	return 0
}

// sockets is the number of sockets that a process has open. The files of its store are open, too.
func sockets(t testing.TB, pid int) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	open, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, fd := range open {
		to, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // closed meanwhile
		}
		require.NoError(t, err)
		if strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// TestSilentConnections opens thousands of connections that send nothing or half a header, and closes them. All resources are
// freed, and a client is served meanwhile.
func TestSilentConnections(t *testing.T) {
	f := newFileSystem(t, "tcp", 1, nil)
	f.start()
	pid := f.servers[0].cmd.Process.Pid
	m := f.mount(client.Options{RetryLimit: -1})
	require.NoError(t, write(m, "/file", entryOf("file")))
	before, open := resident(t, pid), sockets(t, pid)
	at := strings.TrimPrefix(f.servers[0].address, "tcp://")
	rounds, each := 10, 300
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		var all []net.Conn
		for i := range each {
			c, err := net.Dial("tcp", at)
			require.NoError(t, err)
			_, err = c.Write([]byte("\x01\xca\x00\x00 and what is no header of a message")[:i%30])
			require.NoError(t, err)
			all = append(all, c)
		}
		require.NoError(t, write(m, fmt.Sprint("/file", round), entryOf("file")))
		for _, c := range all {
			require.NoError(t, c.Close())
		}
	}
	require.Eventually(t, func() bool { return sockets(t, pid) <= open }, far, tick, "connections stay behind")
	after := resident(t, pid)
	t.Logf("resident memory: %.1f MiB, after %d connections %.1f MiB", mib(before), rounds*each, mib(after))
	require.LessOrEqual(t, after, before+idleBytesMax)
}
