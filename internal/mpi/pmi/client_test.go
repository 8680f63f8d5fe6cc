package pmi

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func TestRanksFindEachOther(t *testing.T) {
	clients := connectAll(t, server.Config{Name: "job_1", Size: 5, Universe: 16, AppNum: func(rank int) int { return rank / 3 }})
	ctx := testContext(t)
	var all sync.WaitGroup
	for rank, c := range clients {
		all.Go(func() {
			assert.Equal(t, rank, c.Rank())
			assert.Equal(t, 5, c.Size())
			assert.Equal(t, "job_1", c.JobID())
			assert.Equal(t, []int{rank / 3, 16, 63, 1023}, []int{c.AppNum(), c.UniverseSize(), c.KeyMax(), c.ValueMax()})
			assert.False(t, c.Parent())
			assert.Empty(t, c.Secret())
			assert.NoError(t, exchange(ctx, c))
		})
	}
	all.Wait()
}

func TestLimitsHoldExactly(t *testing.T) {
	c := connectAll(t, server.Config{Name: "job", Size: 1})[0]
	ctx := testContext(t)
	key, value := strings.Repeat("k", c.KeyMax()), strings.Repeat("v", c.ValueMax())
	require.NoError(t, c.Put(ctx, key, value))
	got, err := c.Get(ctx, key)
	require.NoError(t, err)
	assert.Equal(t, value, got)
	assert.ErrorIs(t, c.Put(ctx, key+"k", "v"), errclass.ValueTooLarge)
	assert.ErrorIs(t, c.Put(ctx, "k", value+"v"), errclass.ValueTooLarge)
	for _, bad := range []string{"", "a b", "a=b", "a;b", "a\nb"} {
		assert.ErrorIs(t, c.Put(ctx, "k", bad), errclass.Arg, "%q", bad)
		assert.ErrorIs(t, c.Put(ctx, bad, "v"), errclass.Arg, "%q", bad)
		_, err := c.Get(ctx, bad)
		assert.ErrorIs(t, err, errclass.Arg, "%q", bad)
	}
	assert.ErrorContains(t, c.Put(ctx, key, "again"), "duplicate key")
	_, err = c.Get(ctx, "nobody")
	assert.ErrorIs(t, err, errclass.Arg)
	// None of that ended the connection.
	require.NoError(t, c.Finalize(ctx))
}

func TestNames(t *testing.T) {
	var names server.Names
	a := connectAll(t, server.Config{Name: "a", Size: 1, Names: &names})[0]
	b := connectAll(t, server.Config{Name: "b", Size: 1, Names: &names})[0]
	ctx := testContext(t)
	require.NoError(t, a.Publish(ctx, "ocean", "tag:1,via+shm://x"))
	assert.ErrorIs(t, b.Publish(ctx, "ocean", "y"), errclass.Service)
	port, err := b.Lookup(ctx, "ocean")
	require.NoError(t, err)
	assert.Equal(t, "tag:1,via+shm://x", port)
	require.NoError(t, a.Unpublish(ctx, "ocean"))
	assert.ErrorIs(t, a.Unpublish(ctx, "ocean"), errclass.Service)
	_, err = b.Lookup(ctx, "ocean")
	assert.ErrorIs(t, err, errclass.Name)
	none := connectAll(t, server.Config{Name: "c", Size: 1})[0]
	assert.ErrorContains(t, none.Publish(ctx, "x", "y"), "names cannot be published here")
}

func TestSpawn(t *testing.T) {
	var got []wire.Spawn
	answer := func() ([]int, error) { return []int{0, 3}, nil }
	c := connectAll(t, server.Config{Name: "job", Size: 1, Spawn: func(_ int, programs []wire.Spawn) ([]int, error) {
		got = programs
		return answer()
	}})[0]
	ctx := testContext(t)
	codes, err := c.Spawn(ctx, "./worker", []string{"-v", "two words"}, 2, map[string]string{"wdir": "/tmp"}, map[string]string{"b": "2", "a": "1"})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 3}, codes)
	assert.Equal(t, []wire.Spawn{{
		Total: 1, Number: 1, Processes: 2, Program: "./worker", Args: []string{"-v", "two words"},
		Preput: []wire.Pair{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}, Info: []wire.Pair{{Key: "wdir", Value: "/tmp"}},
	}}, got)
	answer = func() ([]int, error) { return []int{0, 0, 0}, nil }
	codes, err = c.SpawnMultiple(ctx, []boot.Program{{Path: "./a", N: 1}, {Path: "./b", N: 2, Args: []string{"x"}}}, map[string]string{"a": "1"})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 0, 0}, codes)
	pairs := []wire.Pair{{Key: "a", Value: "1"}}
	assert.Equal(t, []wire.Spawn{
		{Total: 2, Number: 1, Processes: 1, Program: "./a", Preput: pairs},
		{Total: 2, Number: 2, Processes: 2, Program: "./b", Args: []string{"x"}, Preput: pairs},
	}, got)
	answer = func() ([]int, error) { return nil, errors.New("program not found: ./worker") }
	_, err = c.Spawn(ctx, "./worker", nil, 1, nil, nil)
	assert.ErrorIs(t, err, errclass.Spawn)
	assert.ErrorContains(t, err, "program not found: ./worker")
	for _, bad := range []func() ([]int, error){
		func() ([]int, error) { return c.SpawnMultiple(ctx, nil, nil) },
		func() ([]int, error) { return c.SpawnMultiple(ctx, make([]boot.Program, programsMax+1), nil) },
		func() ([]int, error) { return c.Spawn(ctx, "", nil, 1, nil, nil) },
		func() ([]int, error) { return c.Spawn(ctx, "x", nil, 0, nil, nil) },
		func() ([]int, error) { return c.Spawn(ctx, "x", []string{"a\nb"}, 1, nil, nil) },
		func() ([]int, error) { return c.Spawn(ctx, "x", nil, 1, nil, map[string]string{"a": "b c"}) },
	} {
		_, err := bad()
		assert.Error(t, err)
	}
	require.NoError(t, c.Finalize(ctx))
}

func TestAWaitThatIsGivenUp(t *testing.T) {
	clients := connectAll(t, server.Config{Name: "job", Size: 2})
	ctx, cancel := context.WithCancelCause(testContext(t))
	why := errors.New("no time")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	assert.ErrorIs(t, clients[0].Fence(ctx), why)
	assert.ErrorIs(t, clients[0].Put(testContext(t), "a", "b"), why, "its answer would be taken for another's")
	assert.ErrorIs(t, clients[1].Put(ctx, "a", "b"), why)
	assert.NoError(t, clients[1].Put(testContext(t), "a", "b"), "nothing had been asked")
}

func TestOneQuestionAtATime(t *testing.T) {
	c := connectAll(t, server.Config{Name: "job", Size: 1})[0]
	ctx := testContext(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			key := fmt.Sprint("k", i)
			assert.NoError(t, c.Put(ctx, key, key))
			got, err := c.Get(ctx, key)
			assert.NoError(t, err)
			assert.Equal(t, key, got)
		})
	}
	all.Wait()
}

// scripted is a launcher that answers each line, or frame, with the next answer.
func scripted(t *testing.T, rank, size int, answers []string, more ...string) (Client, error) {
	t.Helper()
	conn, fd := pair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := bufio.NewReader(conn)
		for _, a := range answers {
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			_, _ = conn.Write([]byte(a))
		}
		_ = conn.Close()
	}()
	c, _, err := Connect(testContext(t), launcherEnv(fd, rank, size, more...))
	t.Cleanup(func() {
		if c != nil {
			_ = c.Close()
		}
		_ = conn.Close()
		<-done
	})
	return c, err
}

func TestLaunchersThatMakeNoSense(t *testing.T) {
	hello := "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
	maxes := "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
	for what, answers := range map[string][]string{
		"gone":                 nil,
		"does not speak PMI":   {"HTTP/1.1 400 Bad Request\n"},
		"instead of":           {"cmd=finalize_ack\n"},
		"refuses (rc -1)":      {"cmd=response_to_init pmi_version=1 rc=-1\n"},
		"another version":      {"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"},
		"limits make no sense": {hello, "cmd=maxes keylen_max=-5 vallen_max=0\n"},
		"no name":              {hello, maxes, "cmd=my_kvsname\n"},
		"is gone":              {hello, maxes, "cmd=my_kvsname kvsname=x\n"},
		"too long":             {hello, strings.Repeat("x", wire.LineBytesMax+1)},
		"unexpected EOF":       {hello, "cmd=maxes kvsname_max"},
	} {
		_, err := scripted(t, 0, 1, answers)
		assert.ErrorContains(t, err, what)
	}
}

func TestAnAnswerThatMakesNoSense(t *testing.T) {
	c, err := scripted(t, 0, 1, []string{
		"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n", "cmd=maxes kvsname_max=256 keylen_max=999999999 vallen_max=999999999\n",
		"cmd=my_kvsname kvsname=x\n", "cmd=appnum rc=-1\n", "cmd=universe_size size=many\n", "cmd=get_result rc=0\n", "cmd=barrier_out\n",
	})
	require.NoError(t, err)
	assert.Equal(t, []int{-1, 0, 1 << 10, wire.LineBytesMax / 2}, []int{c.AppNum(), c.UniverseSize(), c.KeyMax(), c.ValueMax()})
	_, err = c.Get(testContext(t), "k")
	assert.ErrorContains(t, err, "no process put")
	assert.ErrorContains(t, c.Put(testContext(t), "k", "v"), "instead of put_result")
	assert.ErrorContains(t, c.Put(testContext(t), "k", "v"), "instead of put_result", "it stays broken")
}

func TestEnvironmentsThatMakeNoSense(t *testing.T) {
	ctx := testContext(t)
	for want, env := range map[string]map[string]string{
		`PMI_FD="x"`:                        {FDEnv: "x", RankEnv: "0", SizeEnv: "1"},
		`PMI_FD="1"`:                        {FDEnv: "1", RankEnv: "0", SizeEnv: "1"},
		`PMI_RANK="1"`:                      {FDEnv: "9", RankEnv: "1", SizeEnv: "1"},
		`PMI_SIZE=""`:                       {FDEnv: "9", RankEnv: "0"},
		`PMI_SIZE="99999999"`:               {FDEnv: "9", RankEnv: "0", SizeEnv: "99999999"},
		"PMI_FD=987 is no socket":           {FDEnv: "987", RankEnv: "0", SizeEnv: "1"},
		`PMI_ID=""`:                         {PortEnv: "localhost:1"},
		"cannot be reached":                 {PortEnv: "localhost:1", IDEnv: "0"},
		`MPI_PMI="3"`:                       {VersionEnv: "3"},
		"PMI-2 needs":                       {VersionEnv: "2", PortEnv: "PORT", IDEnv: "0"},
		"use srun --mpi=pmi2":               {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"},
		"Open MPI's mpirun":                 {"OMPI_COMM_WORLD_SIZE": "2"},
		"6 characters are too short":        {FDEnv: "9", RankEnv: "0", SizeEnv: "1", KeyEnv: "secret"},
		KeyFileEnv + ": open /no/such/file": {FDEnv: "9", RankEnv: "0", SizeEnv: "1", KeyFileEnv: "/no/such/file"},
	} {
		if env[PortEnv] == "PORT" {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer func() { _ = l.Close() }()
			env[PortEnv] = l.Addr().String()
		}
		_, ok, err := Connect(ctx, func(key string) string { return env[key] })
		assert.False(t, ok)
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "secret")
	}
	for _, env := range []map[string]string{{}, {VersionEnv: "none", FDEnv: "9"}, {"OMPI_COMM_WORLD_SIZE": "1"}, {"SLURM_PROCID": "0"}} {
		_, ok, err := Connect(ctx, func(key string) string { return env[key] })
		assert.False(t, ok)
		assert.NoError(t, err)
	}
}

func TestSecrets(t *testing.T) {
	secret := strings.Repeat("0123456789abcdef", 4)
	want, err := hex.DecodeString(secret)
	require.NoError(t, err)
	clients := connectAll(t, server.Config{Name: "job", Size: 1}, KeyEnv, secret)
	assert.Equal(t, want, clients[0].Secret())
	clients[0].Secret()[0]++
	assert.Equal(t, want, clients[0].Secret(), "what is given away is a copy")

	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	assert.Equal(t, want, connectAll(t, server.Config{Name: "job", Size: 1}, KeyFileEnv, file)[0].Secret())
	for _, text := range []string{strings.ToUpper(secret), base64.StdEncoding.EncodeToString(want), base64.RawURLEncoding.EncodeToString(want)} {
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
		for _, env := range []map[string]string{{KeyEnv: text}, {KeyFileEnv: file}} {
			got, err := Secret(func(key string) string { return env[key] })
			require.NoError(t, err)
			assert.Equal(t, want, got, text)
		}
	}
	require.NoError(t, os.Chmod(file, 0o640))
	_, err = Secret(launcherEnv(3, 0, 1, KeyFileEnv, file))
	assert.ErrorContains(t, err, "chmod 600")
	_, err = Secret(launcherEnv(3, 0, 1, KeyFileEnv, filepath.Dir(file)))
	assert.ErrorContains(t, err, "not a regular file")
}

// A launcher that listens, as Hydra with -pmi-port.
func TestLauncherWithAPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	job := server.New(server.Config{Name: "job", Size: 3})
	job.Gone(0)
	job.Gone(1)
	served := make(chan error)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer func() { _ = conn.Close() }()
		hello, err := io.ReadAll(io.LimitReader(conn, int64(len("cmd=initack pmiid=12\n"))))
		if string(hello) != "cmd=initack pmiid=12\n" {
			err = fmt.Errorf("%q, %v", hello, err)
		}
		if err == nil {
			_, err = conn.Write([]byte("cmd=initack rc=0\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n"))
		}
		if err == nil {
			err = job.Serve(2, conn)
		}
		served <- err
	}()
	env := map[string]string{PortEnv: l.Addr().String(), IDEnv: strconv.Itoa(12)}
	c, ok, err := Connect(testContext(t), func(key string) string { return env[key] })
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, []int{2, 3}, []int{c.Rank(), c.Size()})
	assert.NoError(t, c.Finalize(testContext(t)))
	require.NoError(t, c.Close())
	require.NoError(t, <-served)
	require.NoError(t, l.Close())
}

func TestClientsAreBoots(t *testing.T) {
	var b boot.Boot = connectAll(t, server.Config{Name: "job", Size: 1}, SpawnedEnv, "1")[0]
	s, ok := b.(boot.Spawner)
	require.True(t, ok)
	assert.True(t, s.Parent())
	_, ok = b.(boot.Namer)
	assert.True(t, ok)
}
