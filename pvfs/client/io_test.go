package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// mounted starts servers and mounts their file system several times.
func mounted(t testing.TB, opts pvfstest.Options, times int) (*pvfstest.Cluster, []*client.FS) {
	c := pvfstest.Start(t, opts)
	mounts := make([]*client.FS, times)
	for i := range mounts {
		fsys, err := client.Mount(context.Background(), c.Source(), client.Options{
			Endpoint: c.Endpoint(), User: &client.Identity{UID: 0, Groups: []uint32{0}}, RetryDelay: time.Millisecond, Seed: uint64(1 + i),
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, fsys.Close()) })
		mounts[i] = fsys
	}
	return c, mounts
}

// smallFlows splits few bytes into many messages.
func smallFlows(o *config.GenOptions) { o.FlowBufferSize, o.FlowBuffers = 5000, 3 }

// dists are the distributions to test.
var dists = []proto.Dist{
	{},
	{Name: proto.DistStripe, StripSize: 100},
	{Name: proto.DistStripe, StripSize: 4096},
	{Name: proto.DistBasic},
	{Name: proto.DistTwoD, StripSize: 1000, Groups: 2, Factor: 2},
	{Name: proto.DistVar, Strips: "0:300;1:1K;0:77"},
}

func pattern(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64()|0x0101010101010101)
	}
	return b[:n:n]
}

// file is an open file and its expected contents.
type file struct {
	*client.File
	want []byte
}

func (f *file) expect(off int64, b []byte) {
	if end := int(off) + len(b); end > len(f.want) {
		f.want = append(f.want, make([]byte, end-len(f.want))...)
	}
	copy(f.want[off:], b)
}

// from is the expected result of a read of n bytes at off.
func (f *file) from(off int64, n int) []byte {
	if off >= int64(len(f.want)) {
		return nil
	}
	return f.want[off:min(off+int64(n), int64(len(f.want)))]
}

// TestRandomIO compares files with memory: reads and writes of all kinds, over all distributions, from less than a strip to many
// messages.
func TestRandomIO(t *testing.T) {
	_, mounts := mounted(t, pvfstest.Options{Servers: 3, Config: smallFlows}, 1)
	randomIO(t, mounts[0])
}

func randomIO(t *testing.T, fsys *client.FS) {
	for i, dist := range dists {
		t.Run(fmt.Sprintf("%d-%s", i, dist.Name), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			opened, err := fsys.OpenStriped(context.Background(), fmt.Sprintf("/random-%d", i), os.O_RDWR|os.O_CREATE, 0o644, client.Striping{Dist: dist})
			require.NoError(t, err)
			f := &file{File: opened}
			for step := range 60 {
				randomStep(t, f, r, fmt.Sprintf("step %d", step))
			}
			info, err := f.Stat()
			require.NoError(t, err)
			require.Equal(t, int64(len(f.want)), info.Size())
			require.NoError(t, f.Close())
		})
	}
}

func randomStep(t *testing.T, f *file, r *rand.Rand, what string) {
	ctx := context.Background()
	length := 1 + r.IntN([]int{50, 3000, 20000, 60000}[r.IntN(4)])
	off := r.Int64N([]int64{1000, 50000, 150000}[r.IntN(3)])
	switch r.IntN(10) {
	case 0, 1, 2:
		b := pattern(r, length)
		n, err := f.WriteAt(b, off)
		require.NoError(t, err, what)
		require.Equal(t, len(b), n)
		f.expect(off, b)
	case 3:
		b := pattern(r, length)
		cut := r.IntN(length)
		n, err := f.WriteVecAt(ctx, [][]byte{b[:cut], nil, b[cut:]}, off)
		require.NoError(t, err, what)
		require.Equal(t, len(b), n)
		f.expect(off, b)
	case 4:
		v, b := randomBlocks(r, off)
		n, err := f.WriteBlocks(ctx, b, v)
		require.NoError(t, err, what)
		require.Equal(t, len(b), n)
		for i := 0; len(b) > 0; i++ {
			k := min(int(v.Len), len(b))
			f.expect(v.Off+int64(i)*v.Stride, b[:k])
			b = b[k:]
		}
	case 5:
		regions, b := randomRegions(r)
		n, err := f.WriteRegions(ctx, b, regions)
		require.NoError(t, err, what)
		require.Equal(t, len(b), n)
		for _, x := range regions {
			f.expect(x.Off, b[:x.Len])
			b = b[x.Len:]
		}
	case 6:
		size := r.Int64N(120000)
		require.NoError(t, f.Truncate(size), what)
		f.want = append(f.want, make([]byte, max(int(size)-len(f.want), 0))...)[:size]
	default:
		readStep(t, f, r, length, off, what)
	}
}

// readStep reads in a random way, into memory with other contents.
func readStep(t *testing.T, f *file, r *rand.Rand, length int, off int64, what string) {
	ctx := context.Background()
	b := pattern(r, length)
	switch r.IntN(4) {
	case 0:
		want := f.from(off, length)
		n, err := f.ReadAt(b, off)
		requireRead(t, want, b, n, err, what)
	case 1:
		want := f.from(off, length)
		cut := r.IntN(length)
		n, err := f.ReadVecAt(ctx, [][]byte{b[:cut], b[cut:]}, off)
		requireRead(t, want, b, n, err, what)
	case 2:
		v, b := randomBlocks(r, off)
		var want []byte
		for i := range v.Count {
			k := min(int(v.Len), len(b)-len(want))
			part := f.from(v.Off+int64(i)*v.Stride, k)
			if want = append(want, part...); len(part) < k {
				break
			}
		}
		n, err := f.ReadBlocks(ctx, b, v)
		requireRead(t, want, b, n, err, what)
	case 3:
		regions, b := randomRegions(r)
		var want []byte
		for _, x := range regions {
			part := f.from(x.Off, int(x.Len))
			if want = append(want, part...); len(part) < int(x.Len) {
				break
			}
		}
		n, err := f.ReadRegions(ctx, b, regions)
		requireRead(t, want, b, n, err, what)
	}
}

func requireRead(t *testing.T, want, b []byte, n int, err error, what string) {
	t.Helper()
	require.Equal(t, len(want), n, what)
	if len(want) < len(b) {
		require.Equal(t, io.EOF, err, what)
	} else {
		require.NoError(t, err, what)
	}
	if !bytes.Equal(want, b[:n]) {
		for i := range want {
			if want[i] != b[i] {
				t.Fatalf("%s: byte %d of %d is %d, not %d", what, i, n, b[i], want[i])
			}
		}
	}
}

func randomBlocks(r *rand.Rand, off int64) (v client.Blocks, b []byte) {
	v = client.Blocks{Off: off, Len: 1 + r.Int64N(3000), Count: 1 + r.IntN(40)}
	v.Stride = v.Len + r.Int64N(2)*r.Int64N(5000)
	return v, pattern(r, 1+r.IntN(v.Count*int(v.Len)))
}

func randomRegions(r *rand.Rand) (regions []client.Region, b []byte) {
	off, n := int64(0), 0
	for range 1 + r.IntN(150) {
		if r.IntN(30) == 0 {
			off = r.Int64N(100000)
		}
		x := client.Region{Off: off + r.Int64N(2)*r.Int64N(2000), Len: r.Int64N(1500)}
		off, n = x.Off+x.Len, n+int(x.Len)
		regions = append(regions, x)
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(regions), func(i, j int) { regions[i], regions[j] = regions[j], regions[i] })
	}
	return regions, pattern(r, n)
}

// TestBig moves several messages to and from each server, over every method.
func TestBig(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			_, mounts := mounted(t, pvfstest.Options{Method: method, Config: func(o *config.GenOptions) { o.FlowBufferSize = 50_000 }}, 2)
			big(t, mounts)
		})
	}
}

func big(t *testing.T, mounts []*client.FS) {
	data := pattern(rand.New(rand.NewPCG(1, 1)), 1<<20+12345)
	f, err := mounts[0].Create(context.Background(), "/big")
	require.NoError(t, err)
	n, err := f.Write(data)
	require.NoError(t, err)
	require.Equal(t, len(data), n)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	got, err := fs.ReadFile(mounts[1], "big")
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))

	in, err := mounts[1].Open("big")
	require.NoError(t, err)
	out, err := mounts[1].Create(context.Background(), "/copy")
	require.NoError(t, err)
	copied, err := io.Copy(out, in)
	require.NoError(t, err)
	require.Equal(t, int64(len(data)), copied)
	require.NoError(t, out.Close())
	require.NoError(t, in.Close())
	got, err = fs.ReadFile(mounts[0], "copy")
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
}

// TestConcurrent writes and reads one file in many goroutines of two mounts.
func TestConcurrent(t *testing.T) {
	_, mounts := mounted(t, pvfstest.Options{Config: smallFlows}, 2)
	concurrent(t, mounts)
}

func concurrent(t *testing.T, mounts []*client.FS) {
	f, err := mounts[0].Create(context.Background(), "/shared")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	const part, writers = 30_000, 12
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			f, err := mounts[w%2].OpenFile(context.Background(), "/shared", os.O_RDWR, 0)
			if err != nil {
				errs[w] = err
				return
			}
			b := bytes.Repeat([]byte{byte(w + 1)}, part)
			_, err = f.WriteAt(b, int64(w)*part)
			got := make([]byte, part)
			_, err2 := f.ReadAt(got, int64(w)*part)
			if !bytes.Equal(b, got) {
				err = errors.Join(err, errors.New("not what was written"))
			}
			errs[w] = errors.Join(err, err2, f.Close())
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	got, err := fs.ReadFile(mounts[1], "shared")
	require.NoError(t, err)
	require.Len(t, got, part*writers)
	for i, b := range got {
		if int(b) != i/part+1 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}

// TestAnotherUnstuffed: this client has an old layout of a file that was unstuffed since.
func TestAnotherUnstuffed(t *testing.T) {
	_, mounts := mounted(t, pvfstest.Options{}, 2)
	anotherUnstuffed(t, mounts)
}

func anotherUnstuffed(t *testing.T, mounts []*client.FS) {
	ctx := context.Background()
	a, err := mounts[0].Create(ctx, "/f")
	require.NoError(t, err)
	_, err = a.WriteAt([]byte("begin"), 0)
	require.NoError(t, err)
	b, err := mounts[1].OpenFile(ctx, "/f", os.O_RDWR, 0)
	require.NoError(t, err)
	got := make([]byte, 300_000)
	n, err := b.ReadAt(got, 0)
	require.Equal(t, io.EOF, err)
	require.Equal(t, "begin", string(got[:n]))

	data := pattern(rand.New(rand.NewPCG(3, 3)), 200_000)
	_, err = a.WriteAt(data, 0)
	require.NoError(t, err)
	n, err = b.ReadAt(got, 0)
	require.Equal(t, io.EOF, err)
	require.True(t, bytes.Equal(data, got[:n]))
	_, err = b.WriteAt([]byte("far"), 400_000)
	require.NoError(t, err)
	n, err = a.ReadAt(got, 399_998)
	require.Equal(t, io.EOF, err)
	require.Equal(t, "\x00\x00far", string(got[:n]))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestFileRules(t *testing.T) {
	_, mounts := mounted(t, pvfstest.Options{}, 1)
	fileRules(t, mounts)
}

func fileRules(t *testing.T, mounts []*client.FS) {
	ctx := context.Background()
	f, err := mounts[0].OpenFile(ctx, "/rules", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	require.NoError(t, err)
	for _, s := range []string{"one", "two", ""} {
		n, err := f.WriteString(s)
		require.NoError(t, err)
		require.Equal(t, len(s), n)
	}
	_, err = f.WriteAt([]byte("x"), 0)
	require.Error(t, err)
	_, err = f.ReadAt(make([]byte, 1), 0)
	require.ErrorIs(t, err, proto.EBADF)
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Close(), fs.ErrClosed)
	_, err = f.Write([]byte("x"))
	require.ErrorIs(t, err, fs.ErrClosed)
	_, err = f.Stat()
	require.ErrorIs(t, err, fs.ErrClosed)

	f, err = mounts[0].OpenFile(ctx, "/rules", os.O_RDONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("x"), 0)
	require.ErrorIs(t, err, proto.EBADF)
	require.ErrorIs(t, f.Truncate(0), proto.EINVAL)
	b := make([]byte, 4)
	n, err := f.Read(b)
	require.NoError(t, err)
	require.Equal(t, "onet", string(b[:n]))
	n, err = f.Read(b)
	require.NoError(t, err)
	require.Equal(t, "wo", string(b[:n]))
	_, err = f.Read(b)
	require.Equal(t, io.EOF, err)
	pos, err := f.Seek(-2, io.SeekEnd)
	require.NoError(t, err)
	require.Equal(t, int64(4), pos)
	_, err = f.Seek(-7, io.SeekEnd)
	require.ErrorIs(t, err, proto.EINVAL)
	n, err = f.ReadAt(b, math.MaxInt64-1)
	require.Equal(t, io.EOF, err)
	require.Zero(t, n)
	_, err = f.ReadAt(b, -1)
	require.ErrorIs(t, err, proto.EINVAL)
	n, err = f.ReadAt(nil, 1<<40)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, f.Close())

	f, err = mounts[0].OpenFile(ctx, "/rules", os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(b, math.MaxInt64-1)
	require.ErrorIs(t, err, proto.EFBIG)
	for _, v := range []client.Blocks{{Off: -1, Len: 1, Stride: 1, Count: 4}, {Len: 2, Stride: 1, Count: 2}, {Len: 1, Stride: 1, Count: 3}, {Len: 1, Stride: math.MaxInt64, Count: 4}} {
		_, err = f.WriteBlocks(ctx, b, v)
		require.ErrorIs(t, err, proto.EINVAL)
	}
	for _, r := range [][]client.Region{nil, {{Off: 0, Len: 5}}, {{Off: 0, Len: 3}}, {{Off: -1, Len: 4}}, {{Off: math.MaxInt64, Len: 4}}} {
		_, err = f.ReadRegions(ctx, b, r)
		require.ErrorIs(t, err, proto.EINVAL)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = f.ReadAtCtx(cancelled, make([]byte, 1<<20), 0)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, f.Close())

	dir, err := mounts[0].OpenFile(ctx, "/", os.O_RDONLY, 0)
	require.NoError(t, err)
	_, err = dir.Read(b)
	require.ErrorIs(t, err, proto.EISDIR)
	require.NoError(t, dir.Close())
}

// TestServerAway: an I/O on a stopped server fails and others do not. It works again after a restart of the server.
func TestServerAway(t *testing.T) {
	c, mounts := mounted(t, pvfstest.Options{Config: smallFlows, Method: pvfstest.TCP}, 1)
	ctx := context.Background()
	const strip = 50_000
	how := client.Striping{Dist: proto.Dist{Name: proto.DistStripe, StripSize: strip}}
	f, err := mounts[0].OpenStriped(ctx, "/away", os.O_RDWR|os.O_CREATE, 0o644, how)
	require.NoError(t, err)
	data := pattern(rand.New(rand.NewPCG(5, 5)), 2*strip)
	_, err = f.WriteAt(data, 0)
	require.NoError(t, err)
	c.Stop(1)
	got, failed := make([]byte, strip), 0
	for i := range int64(2) {
		_, err = f.ReadAt(got, i*strip)
		_, err2 := f.WriteAt(data[i*strip:(i+1)*strip], i*strip)
		if err != nil || err2 != nil {
			require.ErrorIs(t, err, rpc.ErrNotSent)
			require.ErrorIs(t, err2, rpc.ErrNotSent)
			failed++
		}
	}
	require.Equal(t, 1, failed)
	c.Start(1)
	for i := range int64(2) {
		_, err = f.WriteAt(data[(1-i)*strip:(2-i)*strip], i*strip)
		require.NoError(t, err)
		_, err := f.ReadAt(got, i*strip)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data[(1-i)*strip:(2-i)*strip], got))
	}
	require.NoError(t, f.Close())
}

// TestTimes: a write updates mtime by the end at the latest, but not an mtime that was set after the write.
func TestTimes(t *testing.T) {
	_, mounts := mounted(t, pvfstest.Options{}, 1)
	times(t, mounts)
}

func times(t *testing.T, mounts []*client.FS) {
	ctx := context.Background()
	old := time.Unix(1_000_000_000, 0)
	f, err := mounts[0].Create(ctx, "/times")
	require.NoError(t, err)
	for _, set := range []bool{true, false} {
		require.NoError(t, mounts[0].Chtimes(ctx, "/times", old, old))
		_, err = f.Write([]byte("x"))
		require.NoError(t, err)
		if set {
			require.NoError(t, mounts[0].Chtimes(ctx, "/times", time.Time{}, old))
		}
		require.NoError(t, f.Sync())
		info, err := f.Stat()
		require.NoError(t, err)
		require.Equal(t, set, info.ModTime().Equal(old))
	}
	require.NoError(t, mounts[0].Chtimes(ctx, "/times", old, old))
	_, err = f.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	info, err := mounts[0].Stat("times")
	require.NoError(t, err)
	require.False(t, info.ModTime().Equal(old))
	require.Equal(t, int64(3), info.Size())
}
