package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const waitMax = wallclock.Patience

// peer is a process served by the server.
type peer struct {
	t      *testing.T
	conn   net.Conn
	r      *bufio.Reader
	served chan error
}

func serve(t *testing.T, j *Job, rank int) *peer {
	t.Helper()
	ours, theirs := net.Pipe()
	p := &peer{t: t, conn: ours, r: bufio.NewReader(ours), served: make(chan error, 1)}
	require.NoError(t, ours.SetDeadline(time.Now().Add(waitMax)))
	go func() {
		p.served <- j.Serve(rank, theirs)
		_ = theirs.Close()
	}()
	t.Cleanup(func() { _ = ours.Close() })
	return p
}

func (p *peer) say(text string) {
	p.t.Helper()
	_, err := io.WriteString(p.conn, text)
	require.NoError(p.t, err)
}

func (p *peer) hear() string {
	p.t.Helper()
	line, err := p.r.ReadString('\n')
	require.NoError(p.t, err)
	return line
}

func (p *peer) ask(text string) string {
	p.t.Helper()
	p.say(text)
	return p.hear()
}

// end closes the connection and waits for the end of Serve.
func (p *peer) end() error {
	_ = p.conn.Close()
	return <-p.served
}

func TestTranscript(t *testing.T) {
	j := New(Config{Name: "job_0", Size: 1, Universe: 4, Preput: map[string]string{"PARENT": "us"}, Names: &Names{},
		Spawn: func(int, []wire.Spawn) ([]int, error) { return []int{0, 0}, nil }})
	p := serve(t, j, 0)
	var said strings.Builder
	for _, line := range []string{
		"cmd=init pmi_version=1 pmi_subversion=1", "cmd=get_maxes", "cmd=get_appnum", "cmd=get_my_kvsname", "cmd=get_universe_size",
		"cmd=put kvsname=job_0 key=a value=b", "cmd=put kvsname=job_0 key=a value=c", "cmd=put kvsname=other key=x value=y", "cmd=put key= value=x",
		"cmd=put key=" + strings.Repeat("k", 64) + " value=x", "cmd=put key=x value=" + strings.Repeat("v", 1024),
		"cmd=get kvsname=job_0 key=a", "cmd=get kvsname=job_0 key=PARENT", "cmd=get kvsname=job_0 key=none", "cmd=barrier_in",
		"cmd=publish_name service=s port=p", "cmd=publish_name service=s port=q", "cmd=publish_name service= port=q", "cmd=lookup_name service=s",
		"cmd=unpublish_name service=s", "cmd=unpublish_name service=s", "cmd=lookup_name service=s",
		"mcmd=spawn\nnprocs=2\nexecname=x\nendcmd", "cmd=finalize",
	} {
		answer := p.ask(line + "\n")
		if len(line) > 100 {
			line = fmt.Sprintf("%s... (%d bytes)", line[:30], len(line))
		}
		fmt.Fprintf(&said, "> %s\n< %s", strings.ReplaceAll(line, "\n", "\n> "), answer)
	}
	require.NoError(t, p.end())
	golden.Check(t, "testdata/server.txt", []byte(said.String()))
	assert.Equal(t, Finalized, j.State(0))
}

func TestAnotherVersion(t *testing.T) {
	p := serve(t, New(Config{Name: "job", Size: 1}), 0)
	assert.Equal(t, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n", p.ask("cmd=init pmi_version=2 pmi_subversion=0\n"))
	require.NoError(t, p.end())
}

func TestBarrierDoesNotWaitForTheGone(t *testing.T) {
	j := New(Config{Name: "job", Size: 3})
	a, b := serve(t, j, 0), serve(t, j, 1)
	for range 3 {
		a.say("cmd=barrier_in\n")
		require.Eventually(t, func() bool { return len(j.Waiting()) == 1 }, waitMax, time.Millisecond)
		b.say("cmd=barrier_in\n")
		j.Gone(2)
		assert.Equal(t, "cmd=barrier_out rc=0\n", a.hear())
		assert.Equal(t, "cmd=barrier_out rc=0\n", b.hear())
	}
	a.say("cmd=barrier_in\n")
	require.Eventually(t, func() bool { return len(j.Waiting()) == 1 }, waitMax, time.Millisecond)
	j.Gone(1)
	assert.Equal(t, "cmd=barrier_out rc=0\n", a.hear())
	require.NoError(t, a.end())
	require.NoError(t, b.end())
}

func TestAbortWhileInABarrier(t *testing.T) {
	type abort struct {
		rank, code int
		message    string
	}
	got := make(chan abort, 2)
	j := New(Config{Name: "job", Size: 2, Abort: func(rank, code int, message string) { got <- abort{rank, code, message} }})
	p := serve(t, j, 1)
	p.say("cmd=barrier_in\ncmd=abort exitcode=5 message=no more room\ncmd=abort\n")
	assert.Equal(t, abort{1, 5, "no more room"}, <-got)
	assert.Equal(t, abort{1, 1, ""}, <-got)
	require.NoError(t, p.end())
}

func TestCloseEndsFences(t *testing.T) {
	j := New(Config{Name: "job", Size: 2})
	p := serve(t, j, 0)
	p.say("cmd=barrier_in\n")
	j.Close()
	j.Close()
	require.NoError(t, p.end())
}

func TestWhatMakesNoSenseEndsTheSession(t *testing.T) {
	spawn := "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=%d\nspawnssofar=%d\nendcmd\n"
	for text, want := range map[string]string{
		"GET / HTTP/1.1\n": "does not begin with cmd",
		"cmd=frobnicate\n": "no command of PMI-1",
		"cmd=\x1bx\n":      `: "cmd=\x1bx" does not begin`,
		"cmd=finalize\n":   "rank 0 said finalize when it was started",
		"cmd=init pmi_version=1\ncmd=init pmi_version=1\n":                     "said init when it was initialized",
		"cmd=barrier_in\ncmd=barrier_in\n":                                     "entered a barrier twice",
		"mcmd=spawn\nnprocs=none\nexecname=x\nendcmd\n":                        "nprocs=none",
		"mcmd=spawn\ncmd\n":                                                    "in a spawn",
		fmt.Sprintf(spawn, 3, 2):                                               "at place 1",
		fmt.Sprintf(spawn, spawnsMax+1, 1):                                     "programs are allowed",
		"cmd=put key=a value=" + strings.Repeat("x", wire.LineBytesMax) + "\n": "too long",
		"cmd=get_max": "unexpected EOF",
	} {
		j := New(Config{Name: "job", Size: 2})
		p := serve(t, j, 0)
		go func() { _, _ = io.Copy(io.Discard, p.conn) }()
		_, _ = io.WriteString(p.conn, text)
		if strings.HasSuffix(text, "max") {
			_ = p.conn.Close()
		}
		assert.ErrorContains(t, <-p.served, want)
		_ = p.conn.Close()
	}
}

func TestPairsHaveALimit(t *testing.T) {
	j := New(Config{Name: "job", Size: 1})
	value := strings.Repeat("v", valueBytesMax-1)
	why := ""
	n := 0
	for ; why == ""; n++ {
		why = j.put(fmt.Sprint(n), value)
	}
	assert.Equal(t, "too_many_pairs", why)
	assert.InDelta(t, pairsBytesMax/len(value), n, float64(n)/50)

	var names Names
	for n = 0; names.Publish(fmt.Sprint(n), "p") == ""; n++ {
	}
	assert.Equal(t, namesMax, n)
}

func TestSpawnsAreChecked(t *testing.T) {
	var pairs []wire.Pair
	for i := range spawnPairsMax + 1 {
		pairs = append(pairs, wire.Pair{Key: fmt.Sprint("k", i), Value: "v"})
	}
	long := []wire.Pair{{Key: "k", Value: strings.Repeat("v", valueBytesMax)}}
	p := serve(t, New(Config{Name: "job", Size: 1}), 0)
	broken := []wire.Pair{{Key: "k", Value: "two words=a pair"}}
	for want, preput := range map[string][]wire.Pair{"starts_no_more": nil, "too_many": pairs, "too_long": long, "could_be_told": broken} {
		text, err := wire.AppendSpawn(nil, wire.Spawn{Total: 1, Number: 1, Processes: 1, Program: "x", Preput: preput})
		require.NoError(t, err)
		assert.Contains(t, p.ask(string(text)), want)
	}
	require.NoError(t, p.end())
}

// The reason of a failed spawn fits in the answer, however long it is.
func TestLongReasonAgainstASpawn(t *testing.T) {
	p := serve(t, New(Config{Name: "job", Size: 1, Spawn: func(_ int, s []wire.Spawn) ([]int, error) {
		return nil, fmt.Errorf("there is no %s; write ./%s", s[0].Program, s[0].Program)
	}}), 0)
	text, err := wire.AppendSpawn(nil, wire.Spawn{Total: 1, Number: 1, Processes: 1, Program: strings.Repeat("x", 40<<10)})
	require.NoError(t, err)
	assert.Contains(t, p.ask(string(text)), "rc=-1 msg=there_is_no_x")
	require.NoError(t, p.end())
}

// For any requests of a process, Serve ends when the process has ended, and does not panic.
func FuzzServe(f *testing.F) {
	f.Add([]byte("cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=barrier_in\ncmd=finalize\n"))
	f.Add([]byte("cmd=put kvsname=job key=a value=b\ncmd=get key=a\ncmd=abort exitcode=3\n"))
	f.Add([]byte("mcmd=spawn\nnprocs=1\nexecname=x\narg1=a\nargcnt=1\nendcmd\n"))
	f.Add([]byte("cmd=publish_name service=s port=p\ncmd=lookup_name service=s\ncmd=unpublish_name service=s\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		j := New(Config{Name: "job", Size: 2, Names: &Names{}, Spawn: func(_ int, s []wire.Spawn) ([]int, error) { return make([]int, len(s)), nil }})
		j.Gone(1)
		out := &strings.Builder{}
		_ = j.Serve(0, struct {
			io.Reader
			io.Writer
		}{strings.NewReader(string(text)), out})
		for line := range strings.Lines(out.String()) {
			_, err := wire.ParseLine([]byte(line))
			require.NoError(t, err, "an answer that is none: %q", line)
		}
	})
}
