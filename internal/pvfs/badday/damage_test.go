package badday_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// oneServer is a file system of one server with some files. The server is stopped.
func oneServer(t *testing.T) (f *fileSystem, dir string) {
	t.Helper()
	f = newFileSystem(t, "tcp", 1, func(o *config.GenOptions) { o.NoSyncMeta = true })
	f.start()
	m := f.mount(client.Options{})
	for i := range 40 {
		require.NoError(t, write(m, fmt.Sprintf("/file%d", i), fileOf(i)))
	}
	f.kill()
	return f, filepath.Join(f.folder, "store-server0")
}

// fileOf is the expected contents of a file of oneServer.
func fileOf(i int) entry {
	n := int64(100 + 3000*i)
	return entry{kind: "file", number: uint64(i), data: n, size: n}
}

// TestDamagedDatabase damages bytes and pages of a server's database. The server must refuse to start, or report the damage.
// Everything that it serves then is correct, or an error. Once it serves, it never ends by itself.
func TestDamagedDatabase(t *testing.T) {
	f, dir := oneServer(t)
	path := filepath.Join(dir, "meta.db")
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	pages := 0
	for at := 0; at < len(good); at += 4096 {
		if strings.Trim(string(good[at:at+4096]), "\x00") != "" {
			pages = at/4096 + 1
		}
	}
	served, right, refused := 0, 0, 0
	for _, seed := range sim.SeedsAtMost(t, 500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		bad := append([]byte{}, good...)
		for range 1 + rng.IntN(4) {
			at := rng.IntN(pages) * 4096
			switch rng.IntN(3) {
			case 0:
				bad[at+rng.IntN(4096)] ^= 1 << rng.IntN(8)
			case 1:
				for i := range 64 {
					bad[at+rng.IntN(4032)+i] = byte(rng.Uint32())
				}
			case 2:
				copy(bad[at:at+4096], good[rng.IntN(pages)*4096:])
			}
		}
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		if !serves(t, f) {
			refused++
			continue
		}
		served++
		m := f.mount(client.Options{RetryLimit: -1})
		for i := range 40 {
			e := fileOf(i)
			data, err := readAll(m, fmt.Sprintf("/file%d", i))
			if err == nil {
				right++
				require.Equal(t, e.bytes(), data, "seed %d: file %d", seed, i)
			}
		}
		_ = m.Mkdir(background, fmt.Sprintf("/new%d", seed), 0o755) // an error or not
		f.kill()                                                    // fails the test if it has ended
		_, code := f.check()
		assert.Contains(t, []int{pvfsd.ExitOK, pvfsd.ExitDamaged}, code, "seed %d", seed)
	}
	t.Logf("%d refused to start; %d served, and gave %d files of %d", refused, served, right, served*40)
}

// serves starts the server, and reports whether that succeeds.
func serves(t *testing.T, f *fileSystem) bool {
	t.Helper()
	d := f.servers[0]
	d.start()
	select {
	case <-d.ready:
		return true
	case <-d.ended:
	}
	_ = d.cmd.Wait()
	require.True(t, d.cmd.ProcessState.Exited(), "%v: %s", d.cmd.ProcessState, d.heard())
	require.NotRegexp(t, "(?m)^(panic|fatal error): ", d.heard())
	require.Contains(t, d.heard(), "pvfsd: ", "it says why")
	d.cmd = nil
	return false
}

func readAll(m *client.FS, name string) ([]byte, error) {
	file, err := m.Open(strings.TrimPrefix(name, "/"))
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	n, err := file.(*client.File).ReadAt(data, 0)
	if err == nil && n < len(data) {
		err = errors.New("it is shorter than it says")
	}
	return data[:n], err
}

// TestDamagedFiles: files with data are missing, too short or too long, are not regular files, or belong to no object.
func TestDamagedFiles(t *testing.T) {
	f, dir := oneServer(t)
	streams, err := filepath.Glob(filepath.Join(dir, "data", "*", "*.bstream"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(streams), 40)
	require.NoError(t, os.Remove(streams[0]))
	require.NoError(t, os.Truncate(streams[1], 10))
	require.NoError(t, os.Truncate(streams[2], 1<<40))
	require.NoError(t, os.Remove(streams[3]))
	require.NoError(t, os.Mkdir(streams[3], 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data", "00"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "00", "ffffffffffffff00.bstream"), []byte("nobody's"), 0o600))
	f.start()
	m := f.mount(client.Options{RetryLimit: -1})
	good, errs := 0, 0
	for i := range 40 {
		info, err := m.LstatCtx(background, fmt.Sprintf("/file%d", i))
		if err != nil || info.Size() > 1<<30 {
			errs++
			continue
		}
		data, err := readAll(m, fmt.Sprintf("/file%d", i))
		if err != nil {
			errs++
			continue
		}
		if len(data) == int(fileOf(i).size) {
			require.Equal(t, fileOf(i).bytes(), data)
			good++
		}
	}
	assert.Equal(t, 36, good, "%d with errors", errs)
	require.NoError(t, write(m, "/new", fileOf(1)))
	f.kill()
	lines, code := f.check()
	require.Equal(t, pvfsd.ExitDamaged, code, "%q", lines)
	assert.Contains(t, strings.Join(lines, "\n"), "ffffffffffffff00")
	f.check("--repair")
	f.start()
	require.NoError(t, write(m, "/newer", fileOf(1)))
}

// TestWrongStore: a server does not use a store of another configuration or of a newer version, or one that another process uses.
func TestWrongStore(t *testing.T) {
	f, dir := oneServer(t)
	f.start()
	d := f.servers[0]
	out, err := says(d.args...)
	require.Error(t, err)
	assert.Contains(t, out, "another process")
	out, err = says("check", "--dir", dir)
	require.Error(t, err)
	assert.Contains(t, out, "another process")

	text, err := os.ReadFile(f.conf)
	require.NoError(t, err)
	other := strings.Replace(string(text), "ID 1000", "ID 1001", 1)
	require.NotEqual(t, string(text), other)
	conf := filepath.Join(t.TempDir(), "fs.conf")
	require.NoError(t, os.WriteFile(conf, []byte(other), 0o600))
	f.kill()
	out, err = says("serve", "--config", conf, "--dir", dir)
	require.Error(t, err, "the store of file system 1000 serves 1001")
	assert.Contains(t, out, "1000")

	_, err = client.Mount(background, d.address+"/another-name", client.Options{RetryLimit: -1})
	require.Error(t, err)
	f.start()
	_, err = client.Mount(background, d.address+"/another-name", client.Options{RetryLimit: -1})
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Contains(t, err.Error(), f.name)
}
