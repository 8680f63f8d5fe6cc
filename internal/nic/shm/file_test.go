package shm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// fileOf is a file with some bytes, open in a mode.
func fileOf(t testing.TB, data []byte, flags int) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	f, err := os.OpenFile(name, flags, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func fileDesc(f *os.File, off int64, n int, remote nic.Remote) *nic.Descriptor {
	return &nic.Descriptor{Op: nic.OpRDMAWrite, Remote: remote, File: nic.FileRange{File: f, Off: off, Len: n}}
}

// kinds are the kinds of memory that a device's consumer may register.
var kinds = []struct {
	name   string
	shared bool // of the arena
	alloc  func(*Device, int) ([]byte, error)
}{
	{"of Go", false, func(_ *Device, n int) ([]byte, error) { return make([]byte, n), nil }},
	{"of Alloc, small", true, func(d *Device, n int) ([]byte, error) {
		mem, err := d.Alloc(max(n, classMax), false)
		return mem[:n], err
	}},
	{"of Alloc, large", false, func(d *Device, n int) ([]byte, error) {
		mem, err := d.Alloc(max(n, 4<<20), false)
		return mem[:n], err
	}},
	{"of Alloc, shared", true, func(d *Device, n int) ([]byte, error) {
		mem, err := d.Alloc(max(n, 4<<20), true)
		return mem[:n], err
	}},
}

// memoryFile is a file that always stays in memory.
func memoryFile(t testing.TB, data []byte) *os.File {
	t.Helper()
	fd, err := newMemfd("viaduct-test", int64(len(data)))
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "memory")
	t.Cleanup(func() { _ = f.Close() })
	_, err = f.WriteAt(data, 0)
	require.NoError(t, err)
	return f
}

func TestFileWrites(t *testing.T) {
	const has = 200_000
	data := pattern(has, 3)
	t.Run("on disk", func(t *testing.T) { fileWrites(t, data, fileOf(t, data, os.O_RDONLY)) })
	t.Run("in memory", func(t *testing.T) { fileWrites(t, data, memoryFile(t, data)) })
}

func fileWrites(t *testing.T, data []byte, file *os.File) {
	has := int64(len(data))
	require.NoError(t, file.Sync()) // only clean pages can be evicted from memory
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			f, pa, pb := pair(t, reliable())
			for _, c := range []struct {
				off int64
				n   int
			}{
				{0, 1}, {0, 4096}, {1, 4095}, {4097, 65_535}, {7, fileBufferBytes}, {7, fileBufferBytes + 1},
				{has - 1, 1}, {has - 5000, 5000}, {has - 5000, 12_345}, {has - 1, 100_000}, {has, 70_000}, {1 << 40, 4096},
			} {
				_ = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
				mem, err := kind.alloc(pb.dev, c.n+128)
				require.NoError(t, err)
				for i := range mem {
					mem[i] = 0xee
				}
				h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
				require.NoError(t, err)
				before := pa.dev.Stats()
				d := fileDesc(file, c.off, c.n, remoteOf(mem, 64, h))
				require.Equal(t, nic.StatusSuccess, f.rdma(pa, d), "%+v", c)
				require.Equal(t, c.n, d.Length)
				want := make([]byte, c.n)
				copy(want, data[min(c.off, has):])
				require.Equal(t, want, mem[64:64+c.n], "%+v", c)
				for i := range 64 {
					require.Equal(t, byte(0xee), mem[i], "%+v: written before the range", c)
					require.Equal(t, byte(0xee), mem[64+c.n+i], "%+v: written behind the range", c)
				}
				direct := pa.dev.Stats().FileBytes - before.FileBytes
				if kind.shared {
					require.Equal(t, uint64(max(0, min(int64(c.n), has-c.off))), direct, "%+v: copied twice", c)
				} else {
					require.Zero(t, direct, "%+v", c)
				}
				require.NoError(t, pb.dev.Deregister(h))
			}
		})
	}
}

// TestLargeFileWriteIsDividedUp: one Poll moves a bounded part; descriptors posted behind it wait.
func TestLargeFileWriteIsDividedUp(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	n := 3*rdmaPollBytes + 17
	data := pattern(n, 3)
	mem, err := pb.dev.Alloc(n, true)
	require.NoError(t, err)
	h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	r := recvInto(make([]byte, 8))
	require.NoError(t, pb.PostRecv(r))
	w := fileDesc(fileOf(t, data, os.O_RDONLY), 0, n, remoteOf(mem, 0, h))
	done, err := pa.PostSend(w)
	require.NoError(t, err)
	require.False(t, done)
	done, err = pa.PostSend(send([]byte("finished")))
	require.NoError(t, err)
	require.False(t, done, "a send overtook an unfinished RDMA write")
	f.next(pb.dev, nic.EventRecv)
	require.Equal(t, data, mem)
	require.Same(t, w, f.next(pa.dev, nic.EventSend).Desc)
}

func TestFileWriteNeedsAReadableFile(t *testing.T) {
	closed := fileOf(t, pattern(10_000, 1), os.O_RDONLY)
	require.NoError(t, closed.Close())
	files := map[string]*os.File{"write-only": fileOf(t, pattern(10_000, 1), os.O_WRONLY), "closed": closed}
	for _, kind := range kinds {
		for what, file := range files {
			f, pa, pb := pair(t, reliable())
			mem, err := kind.alloc(pb.dev, 8192)
			require.NoError(t, err)
			clear(mem)
			h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
			require.NoError(t, err)
			d := fileDesc(file, 0, 8192, remoteOf(mem, 0, h))
			require.Equal(t, nic.StatusFileError, f.rdma(pa, d), "%s, %s", what, kind.name)
			require.Error(t, d.FileErr)
			require.Zero(t, d.Length)
			require.Equal(t, make([]byte, 8192), mem)
			require.NoError(t, pb.dev.Deregister(h), "the memory stays in use")
		}
	}
}

func TestFileWriteProtection(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			f, pa, pb := pair(t, reliable())
			file := fileOf(t, pattern(8192, 1), os.O_RDONLY)
			mem, err := kind.alloc(pb.dev, 8192)
			require.NoError(t, err)
			clear(mem)
			gone, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
			require.NoError(t, err)
			require.NoError(t, pb.dev.Deregister(gone))
			readOnly, err := pb.dev.Register(mem, nic.AccessRemoteRead, 7)
			require.NoError(t, err)
			otherTag, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 8)
			require.NoError(t, err)
			part, err := pb.dev.Register(mem[4096:4200], nic.AccessRemoteWrite, 7)
			require.NoError(t, err)
			for what, remote := range map[string]nic.Remote{
				"withdrawn": remoteOf(mem, 0, gone), "read-only": remoteOf(mem, 0, readOnly), "of another tag": remoteOf(mem, 0, otherTag),
				"before it": remoteOf(mem, 4095, part), "behind it": remoteOf(mem, 4101, part), "no handle": remoteOf(mem, 0, 0),
			} {
				require.Equal(t, nic.StatusRDMAError, f.rdma(pa, fileDesc(file, 0, 100, remote)), what)
			}
			require.Equal(t, make([]byte, 8192), mem)
			require.Equal(t, nic.StatusSuccess, f.rdma(pa, fileDesc(file, 0, 100, remoteOf(mem, 4100, part))))
		})
	}
}

func TestFilesAreForWritesAlone(t *testing.T) {
	_, pa, _ := pair(t, reliable())
	file := fileOf(t, pattern(100, 1), os.O_RDONLY)
	for _, op := range []nic.Op{nic.OpRDMARead, nic.OpRecv} {
		d := fileDesc(file, 0, 100, nic.Remote{})
		d.Op = op
		_, err := pa.PostSend(d)
		require.Error(t, err)
	}
	d := fileDesc(file, 0, 100, nic.Remote{})
	d.Segments = []nic.Segment{{Data: make([]byte, 10)}}
	_, err := pa.PostSend(d)
	require.Error(t, err)
}

// TestFileShrinksUnderWrites: while a file is truncated, the receiver gets its bytes or zeros, and no
// process crashes.
func TestFileShrinksUnderWrites(t *testing.T) {
	data := pattern(512<<10, 5)
	t.Run("on disk", func(t *testing.T) { fileShrinks(t, data, fileOf(t, data, os.O_RDWR)) })
	t.Run("in memory", func(t *testing.T) { fileShrinks(t, data, memoryFile(t, data)) })
}

// neither returns the index of the first byte of mem that is not zero and differs from data, or -1. It
// is hidden from the race detector because it reads many bytes.
//
//go:norace
func neither(mem, data []byte) int {
	for i, b := range mem {
		if b != 0 && b != data[i] {
			return i
		}
	}
	return -1
}

func fileShrinks(t *testing.T, data []byte, file *os.File) {
	n := len(data)
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			f, pa, pb := pair(t, reliable())
			mem, err := kind.alloc(pb.dev, n)
			require.NoError(t, err)
			h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
			require.NoError(t, err)
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					assert.NoError(t, file.Truncate(int64(i*7919%n)))
					_, err := file.WriteAt(data, 0)
					assert.NoError(t, err)
				}
			}()
			rounds := 100
			if testing.Short() {
				rounds = 10
			}
			for range rounds {
				require.Equal(t, nic.StatusSuccess, f.rdma(pa, fileDesc(file, 0, n, remoteOf(mem, 0, h))))
				if i := neither(mem, data); i >= 0 {
					require.Failf(t, "wrong", "byte %d is %#x, the file held %#x", i, mem[i], data[i])
				}
			}
			close(stop)
			<-stopped
		})
	}
}

// TestArenaDescriptorIsChecked: the other side may give any number as its arena's descriptor. If it is
// not an arena it is not mapped, and the bytes take the other path.
func TestArenaDescriptorIsChecked(t *testing.T) {
	small, err := newMemfd("viaduct-test", 4096)
	require.NoError(t, err)
	defer closeFD(small)
	unsealed, err := newMemfd("viaduct-test", arenaBytes)
	require.NoError(t, err)
	defer closeFD(unsealed)
	frozen, err := newMemfd("viaduct-test", arenaBytes)
	require.NoError(t, err)
	defer closeFD(frozen)
	require.NoError(t, seal(frozen, segmentSeals|unix.F_SEAL_WRITE))
	var pipe [2]int
	require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	defer closeFD(pipe[0])
	defer closeFD(pipe[1])
	for what, fd := range map[string]int{
		"small": small, "unsealed": unsealed, "cannot be written": frozen, "a pipe": pipe[0], "not open": 1 << 20, "largest": descriptorMask - 1,
	} {
		f, pa, pb := pair(t, reliable())
		data := pattern(10_000, 1)
		mem := make([]byte, len(data))
		h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
		require.NoError(t, err)
		rights := pb.dev.table.word(handleIndex(h), entryRights)
		wordAtomic(rights, *rights|uint64(fd+1)<<descriptorShift)
		require.Equal(t, nic.StatusSuccess, f.rdma(pa, fileDesc(fileOf(t, data, os.O_RDONLY), 0, len(data), remoteOf(mem, 0, h))), what)
		require.Equal(t, data, mem, what)
		require.Zero(t, pa.dev.Stats().FileBytes, what)
		require.Nil(t, pa.conn.arena.mem, what)
	}
}

// TestArenaAddressIsChecked: with any address from the other side, bytes are written only into that
// side's arena.
func TestArenaAddressIsChecked(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	file := fileOf(t, pattern(10_000, 1), os.O_RDONLY)
	mem, err := pb.dev.Alloc(4096, true)
	require.NoError(t, err)
	h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	i := handleIndex(h)
	rights := *pb.dev.table.word(i, entryRights)
	end := (remoteOf(mem, 0, h).Addr/arenaBytes + 1) * arenaBytes
	require.Len(t, pa.conn.at(end-100, 100, rights), 100)
	require.Nil(t, pa.conn.at(end-100, 101, rights))
	require.Nil(t, pa.conn.at(^uint64(0)-10, 100, rights))
	wordAtomic(pb.dev.table.word(i, entryAddr), 1<<63)
	wordAtomic(pb.dev.table.word(i, entryLen), 4096)
	require.Equal(t, nic.StatusSuccess, f.rdma(pa, fileDesc(file, 0, 4096, nic.Remote{Addr: 1 << 63, Handle: h})))
	require.Equal(t, pattern(10_000, 1)[:4096], pb.dev.memory.shared.mem[:4096], "it lies at the arena's beginning, for who believes it")
}

// arenaMappings counts mappings of arenas in this process.
func arenaMappings(t testing.TB) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), "viaduct-arena")
}

func TestArenasAreUnmapped(t *testing.T) {
	require.Zero(t, arenaMappings(t))
	f, pa, pb := pair(t, reliable())
	require.Zero(t, arenaMappings(t), "there is one before anybody asked for memory")
	mem, err := pb.dev.Alloc(4096, false)
	require.NoError(t, err)
	require.Equal(t, 1, arenaMappings(t))
	h, err := pb.dev.Register(mem, nic.AccessRemoteWrite, 7)
	require.NoError(t, err)
	file := fileOf(t, pattern(100, 1), os.O_RDONLY)
	require.Equal(t, nic.StatusSuccess, f.rdma(pa, fileDesc(file, 0, 100, remoteOf(mem, 0, h))))
	require.Equal(t, 2, arenaMappings(t))
	pb.Disconnect()
	f.next(pa.dev, nic.EventDisconnected)
	require.Equal(t, 1, arenaMappings(t), "the connection is gone, and its mapping stays")
	require.NoError(t, pb.dev.Close())
	require.Zero(t, arenaMappings(t))
}

// TestArenaFull: without room in the arena other memory is used, and freed room is used again.
func TestArenaFull(t *testing.T) {
	d := openDevice(t, t.TempDir(), "")
	before := residentShared(t)
	var all [][]byte
	for range 5 {
		for len(all) < arenaChunks/32+2 {
			mem, err := d.Alloc(32*chunkBytes, true)
			require.NoError(t, err)
			all = append(all, mem)
		}
		in := 0
		for _, mem := range all {
			if d.memory.shared.offset(mem) >= 0 {
				in++
			}
		}
		require.Equal(t, arenaChunks/32, in)
		for _, mem := range all {
			require.NoError(t, d.Free(mem))
		}
		all = nil
	}
	require.LessOrEqual(t, residentShared(t)-before, 64, "KiB after everything was freed")
	mem, err := d.Alloc(arenaBytes+1, true)
	require.NoError(t, err)
	require.NoError(t, d.Free(mem))
}

func TestNoArenaWithoutCMA(t *testing.T) {
	t.Setenv(NoCMAEnv, "1")
	d := openDevice(t, t.TempDir(), "")
	mem, err := d.Alloc(4096, true)
	require.NoError(t, err)
	require.Negative(t, d.memory.shared.offset(mem))
}
