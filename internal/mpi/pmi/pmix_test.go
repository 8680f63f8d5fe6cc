package pmi

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/pmixtest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/slurmtest"
)

// checkUnderPMIx runs the programs of this package under a launcher with PMIx.
func checkUnderPMIx(t *testing.T, env []string, launcher ...string) {
	run := func(t *testing.T, what, n string) (string, error) {
		return under(t, what, env, launcher[0], append(launcher[1:len(launcher):len(launcher)], "-n", n)...)
	}
	t.Run("exchange", func(t *testing.T) {
		out, err := run(t, "exchange", "4")
		checkExchange(t, out, err)
		assert.NotContains(t, out, "ERROR")
	})
	t.Run("abort", func(t *testing.T) {
		out, err := run(t, "abort", "3")
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%s", out)
		assert.NotContains(t, out, "did not end this process")
	})
	t.Run("again", func(t *testing.T) {
		out, err := run(t, "again", "1")
		require.NoError(t, err, "%s", out)
		assert.Contains(t, out, "a child is alone", "%s", out)
	})
}

func TestUnderOpenMPI(t *testing.T) {
	env := []string{HelperEnv + "=" + pmixtest.Helper(t)}
	launcher, more := pmixtest.OpenMPI(t)
	env = append(env, more...)
	checkUnderPMIx(t, env, launcher...)
	t.Run("names", func(t *testing.T) {
		out, err := under(t, "names", env, launcher[0], append(launcher[1:], "-n", "2")...)
		require.NoError(t, err, "%s", out)
		assert.Equal(t, []string{"rank 0 finds port:1", "rank 1 finds port:1"}, linesWith(out, "finds"), "%s", out)
	})
	t.Run("spawn", func(t *testing.T) {
		out, err := under(t, "spawn", env, launcher[0], append(launcher[1:], "-n", "2")...)
		require.NoError(t, err, "%s", out)
		assert.Equal(t, []string{"child 0 of 2 finds us:1", "child 1 of 2 finds us:1"}, linesWith(out, "finds"), "%s", out)
	})
}

func TestUnderPRRTE(t *testing.T) {
	launcher, more := pmixtest.PRRTE(t)
	checkUnderPMIx(t, append(more, HelperEnv+"="+pmixtest.Helper(t)), launcher...)
}

func TestUnderSlurmWithPMIx(t *testing.T) {
	helper := HelperEnv + "=" + pmixtest.Helper(t)
	env := append(slurmtest.Start(t, 2), helper)
	checkUnderPMIx(t, env, "srun", "--mpi=pmix", "--overcommit")
	t.Run("two nodes", func(t *testing.T) {
		out, err := under(t, "exchange", env, "srun", "--mpi=pmix", "--overcommit", "-N", "2", "-n", "4")
		checkExchange(t, out, err)
	})
}

// withLibrary joins a job by a libpmix of testdata that is wrong in some way.
func withLibrary(t *testing.T, ctx context.Context, helper, library, wrong string) (Client, error) {
	t.Helper()
	t.Setenv(pmixNamespaceEnv, "job@1")
	t.Setenv(pmixRankEnv, "0")
	t.Setenv(LibraryEnv, library)
	t.Setenv(HelperEnv, helper)
	t.Setenv("FAKE_PMIX", wrong)
	c, _, err := Connect(ctx, os.Getenv)
	return c, err
}

func TestLibrariesThatAreWrong(t *testing.T) {
	helper := pmixtest.Helper(t)
	text := filepath.Join(t.TempDir(), "libpmix.so.2")
	require.NoError(t, os.WriteFile(text, []byte("no library"), 0o644))
	fake := pmixtest.Library(t, "testdata/fakepmix.c")
	for _, c := range []struct{ library, wrong, want string }{
		{"/nowhere/libpmix.so.2", "", "/nowhere/libpmix.so.2 cannot be loaded"},
		{text, "", "cannot be loaded"},
		{"libc.so.6", "", "has no function PMIx_Get_version, so it is no PMIx"},
		{pmixtest.Library(t, "testdata/fakepmix.c", "NO_FENCE"), "", "has no function PMIx_Fence_nb"},
		{fake, "old", `PMIx 1.2.5\" of PMIx, and version 2 or later is needed`},
		{fake, "no version", "and version 2 or later is needed"},
		{fake, "init fails", "UNREACHABLE (-25): is it the launcher's libpmix?"},
		{fake, "init crashes", "has ended (signal: segmentation fault"},
		{fake, "singleton", "did not join the launcher's job"},
		{fake, "no size", "the launcher tells no size of the job"},
		{fake, "nothing", "the launcher tells no size of the job"},
		{fake, "size 0", "the launcher tells no size of the job"},
		{fake, "huge", "cmd=set size=4000000000 instead of size"},
	} {
		_, err := withLibrary(t, testContext(t), helper, c.library, c.wrong)
		require.ErrorContains(t, err, c.want, "%s %s", c.library, c.wrong)
	}
}

func TestALibraryThatHangs(t *testing.T) {
	helper, library := pmixtest.Helper(t), pmixtest.Library(t, "testdata/fakepmix.c")
	ctx, cancel := context.WithCancelCause(testContext(t))
	why := errors.New("no time")
	fifo := filepath.Join(t.TempDir(), "hangs")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	t.Setenv("FAKE_PMIX_FIFO", fifo)
	waited := make(chan error)
	go func() {
		_, err := os.ReadFile(fifo) // ends when the library has opened it
		cancel(why)
		waited <- err
	}()
	_, err := withLibrary(t, ctx, helper, library, "init hangs")
	require.NoError(t, <-waited)
	require.ErrorIs(t, err, why)
}

// TestALibraryThatLies: values that cannot travel are not passed on, and errors have one line.
func TestALibraryThatLies(t *testing.T) {
	c, err := withLibrary(t, testContext(t), pmixtest.Helper(t), pmixtest.Library(t, "testdata/fakepmix.c"), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	assert.Equal(t, 2, c.Size())
	assert.Equal(t, "job@1", c.JobID())
	assert.Equal(t, -1, c.AppNum())
	ctx := testContext(t)
	require.NoError(t, c.Put(ctx, "k", "v"))
	assert.ErrorContains(t, c.Fence(ctx), "PMIx_Fence: UNREACHABLE")
	_, err = c.Get(ctx, "bad")
	assert.ErrorContains(t, err, "no process put the key")
	got, err := c.Get(ctx, "k0")
	require.NoError(t, err)
	assert.Equal(t, "v", got)
	assert.ErrorContains(t, c.Publish(ctx, "s", "p"), "PMIx_Publish: SOME:ERROR:")
	_, err = c.Lookup(ctx, "s")
	assert.ErrorContains(t, err, "has no port under this name")
	_, err = c.Spawn(ctx, "x", []string{"a"}, 1, nil, map[string]string{"k": "v"})
	assert.ErrorContains(t, err, "PMIx_Spawn: SOME:ERROR:")
}

// TestWithoutTheHelper: a process that may be one of several does not believe that it is alone.
func TestWithoutTheHelper(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	env := map[string]string{pmixNamespaceEnv: "job", pmixRankEnv: "0"}
	_, _, err := Connect(testContext(t), func(key string) string { return env[key] })
	require.ErrorContains(t, err, "viaduct-pmix, which joins such a job, is neither beside the program nor in PATH")
	env["OMPI_COMM_WORLD_SIZE"] = "1"
	_, ok, err := Connect(testContext(t), func(key string) string { return env[key] })
	require.NoError(t, err)
	require.False(t, ok)
	env[HelperEnv] = "/nowhere/viaduct-pmix"
	_, _, err = Connect(testContext(t), func(key string) string { return env[key] })
	require.ErrorContains(t, err, "/nowhere/viaduct-pmix, which joins a job under PMIx, cannot be started")
}
