package pmi

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// launcher2 answers PMI-2 as Slurm does, and records the requests.
type launcher2 struct {
	pairs, names map[string]string
	transcript   strings.Builder
	answers      map[string]string // other answers to commands
}

func (l *launcher2) serve(conn io.ReadWriter) error {
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	l.transcript.WriteString("> " + line)
	hello := "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"
	if other, ok := l.answers["init"]; ok {
		hello = other
	}
	l.transcript.WriteString("< " + hello)
	if _, err := io.WriteString(conn, hello); err != nil {
		return err
	}
	for {
		c, err := wire.ReadFrame(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		said, _ := wire.AppendFrame(nil, c)
		fmt.Fprintf(&l.transcript, "> %s\n", said)
		answer := l.answer(c)
		fmt.Fprintf(&l.transcript, "< %s\n", answer)
		if _, err := conn.Write(answer); err != nil {
			return err
		}
	}
}

func (l *launcher2) answer(c wire.Command) []byte {
	if other, ok := l.answers[c.Name]; ok {
		return fmt.Appendf(nil, "%-6d%s", len(other), other)
	}
	key, _ := c.Get("key")
	value, _ := c.Get("value")
	name, _ := c.Get("name")
	pairs := []string{"rc", "0"}
	switch c.Name {
	case "fullinit":
		rank, _ := c.Get("pmirank")
		pairs = append(pairs, "pmiversion", "2", "pmisubversion", "0", "rank", rank, "size", "4", "appnum", "-1", "debugged", "FALSE", "pmiverbose", "FALSE")
	case "job-getid":
		pairs = append(pairs, "jobid", "17.0")
	case "kvs-put":
		l.pairs[key] = value
	case "kvs-get", "info-getjobattr":
		if v, ok := l.pairs[key]; ok {
			pairs = append(pairs, "found", "TRUE", "value", v)
		} else {
			pairs = append(pairs, "found", "FALSE")
		}
	case "name-publish":
		l.names[name], _ = c.Get("port")
	case "name-unpublish":
		delete(l.names, name)
	case "name-lookup":
		pairs = []string{"rc", "1"}
		if port, ok := l.names[name]; ok {
			pairs = []string{"rc", "0", "value", port}
		}
	case "spawn":
		pairs = append(pairs, "jobid", "18.0", "nerrs", "0")
	}
	frame, _ := wire.AppendFrame(nil, wire.New(c.Name+"-response", pairs...))
	return frame
}

// connect2 connects rank 3 of 4 to a launcher. close ends it, after which its records can be read.
func connect2(t *testing.T, l *launcher2) (c Client, close func(), err error) {
	t.Helper()
	if l.pairs == nil {
		l.pairs, l.names = map[string]string{"universeSize": "8"}, map[string]string{}
	}
	conn, fd := pair(t)
	served := make(chan error)
	go func() { served <- l.serve(conn) }()
	c, _, err = Connect(testContext(t), launcherEnv(fd, 3, 4, JobEnv, "17.0"))
	closed := false
	close = func() {
		if !closed {
			closed = true
			if c != nil {
				_ = c.Close()
			}
			<-served
		}
	}
	t.Cleanup(close)
	return c, close, err
}

func TestPMI2Transcript(t *testing.T) {
	l := &launcher2{}
	c, end, err := connect2(t, l)
	require.NoError(t, err)
	ctx := testContext(t)
	assert.Equal(t, []int{3, 4, -1, 8, 63, 1023}, []int{c.Rank(), c.Size(), c.AppNum(), c.UniverseSize(), c.KeyMax(), c.ValueMax()})
	assert.Equal(t, "17.0", c.JobID())
	assert.False(t, c.Parent())
	require.NoError(t, c.Put(ctx, "card-3", "a+/b"))
	require.NoError(t, c.Fence(ctx))
	got, err := c.Get(ctx, "card-3")
	require.NoError(t, err)
	assert.Equal(t, "a+/b", got)
	_, err = c.Get(ctx, "card-9")
	assert.ErrorContains(t, err, `no process put the key "card-9"`)
	require.NoError(t, c.Publish(ctx, "ocean", "tag:1"))
	port, err := c.Lookup(ctx, "ocean")
	require.NoError(t, err)
	assert.Equal(t, "tag:1", port)
	require.NoError(t, c.Unpublish(ctx, "ocean"))
	_, err = c.Lookup(ctx, "ocean")
	assert.ErrorIs(t, err, errclass.Name)
	codes, err := c.Spawn(ctx, "./worker", []string{"-v", "x y"}, 2, map[string]string{"wdir": "/tmp"}, map[string]string{"PARENT": "us"})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 0}, codes)
	require.NoError(t, c.Finalize(ctx))
	end()
	golden.Check(t, "testdata/pmi2.txt", []byte(l.transcript.String()))
}

func TestPMI2LaunchersThatMakeNoSense(t *testing.T) {
	for want, answers := range map[string]map[string]string{
		"another version":       {"init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
		"refuses":               {"init": "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n"},
		"does not speak PMI":    {"init": "hello\n"},
		"which process this is": {"fullinit": "cmd=fullinit-response;rc=0;rank=4;size=4;"},
		"bad luck":              {"fullinit": "cmd=fullinit-response;rc=14;errmsg=bad luck;"},
		"the answer is":         {"job-getid": "cmd=kvs-get-response;rc=0;"},
		"no name for the job":   {"job-getid": "cmd=job-getid-response;rc=0;"},
		"malformed PMI command": {"fullinit": "fullinit-response"},
	} {
		_, _, err := connect2(t, &launcher2{answers: answers})
		assert.ErrorContains(t, err, want)
	}
	c, _, err := connect2(t, &launcher2{answers: map[string]string{
		"fullinit": "cmd=fullinit-response;rc=0;rank=0;size=1;spawner-jobid=16.0;", "info-getjobattr": "cmd=info-getjobattr-response;rc=3;",
	}})
	require.NoError(t, err)
	assert.True(t, c.Parent())
	assert.Equal(t, []int{0, 1, -1, 0}, []int{c.Rank(), c.Size(), c.AppNum(), c.UniverseSize()})
}
