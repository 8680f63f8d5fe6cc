package tracefile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/trace"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// node describes a process on a host of its own. Its monotonic clock is ahead of true time.
func node(rank string, ahead time.Duration) trace.Process {
	return trace.Process{
		PID: 1, Rank: rank, Host: "node" + rank, Boot: "boot" + rank, Program: "heat",
		Wall: 1_700_000_000e9, Monotonic: int64(100*time.Second + ahead),
	}
}

// TestJoin: the clock of b is five seconds ahead and its time of day says nothing of it. Messages take 10 µs to b at least, and 30 µs
// back.
func TestJoin(t *testing.T) {
	a, b := newWriter(t, node("0", 0), "tcp://a:1"), newWriter(t, node("1", 5*time.Second), "tcp://b:1")
	a.op("send", "tcp://b:1", 7, 8, 100*us, 101*us)
	a.op("send", "tcp://b:1", 7, 9, 200*us, 250*us) // the second of this tag
	b.op("recv", "tcp://a:1", 7, 8, 50*us, 110*us)
	b.op("recv", "tcp://a:1", 7, 9, 120*us, 500*us) // a slow one
	b.op("send unexpected", "tcp://a:1", 1, 100, 600*us, 601*us)
	a.op("unexpected", "tcp://b:1", 1, 100, 630*us, 631*us)
	b.op("send", "tcp://a:1", 9, 1, 700*us, 701*us) // never received
	did, events, name := joined(t, a.close(), b.close())
	require.Equal(t, 3, did.Messages)
	require.Equal(t, []HostClock{{Host: "node0"}, {Host: "node1", Offset: -5*time.Second + 10*us, Error: 20 * us}}, did.Hosts,
		"between 10 and 30 µs, the middle is taken")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	golden.Check(t, "testdata/joined.json", text)
	at := map[string][]Micros{}
	for _, e := range events {
		if e.Bind != 0 {
			at[e.Name] = append(at[e.Name], e.TS)
		}
	}
	assert.Equal(t, []Micros{Micros(100 * us), Micros(200 * us), Micros(610 * us)}, at["sent"])
	assert.Equal(t, []Micros{Micros(120 * us), Micros(510 * us)}, at["arrived"])

	again := filepath.Join(t.TempDir(), "again")
	f, err := os.Create(again)
	require.NoError(t, err)
	defer f.Close()
	_, err = Join(f, []string{name})
	require.ErrorContains(t, err, "joined already")
	_, err = Join(f, nil)
	require.Error(t, err)
}

// TestHostsInARow: a host is known by one that is known, and one without messages by its time of day.
func TestHostsInARow(t *testing.T) {
	lone := node("3", 7*time.Hour)
	lone.Wall += int64(2 * time.Second)
	w := []*writer{
		newWriter(t, node("0", 0), "tcp://0"), newWriter(t, node("1", time.Hour), "tcp://1"),
		newWriter(t, node("2", 3*time.Hour), "tcp://2"), newWriter(t, lone, "tcp://3"),
	}
	for _, pair := range [][2]int{{0, 1}, {1, 2}} {
		x, y := w[pair[0]], w[pair[1]]
		x.op("send", "tcp://"+string(rune('0'+pair[1])), 1, 1, 10*us, 11*us)
		y.op("recv", "tcp://"+string(rune('0'+pair[0])), 1, 1, 0, 20*us)
		y.op("send", "tcp://"+string(rune('0'+pair[0])), 2, 1, 30*us, 31*us)
		x.op("recv", "tcp://"+string(rune('0'+pair[1])), 2, 1, 0, 40*us)
	}
	did, _, _ := joined(t, w[2].close(), w[0].close(), w[1].close(), w[3].close())
	assert.Equal(t, []HostClock{
		{Host: "node2"}, {Host: "node0", Offset: 3 * time.Hour, Error: 20 * us}, {Host: "node1", Offset: 2 * time.Hour, Error: 10 * us},
		{Host: "node3", Offset: -4*time.Hour + 2*time.Second, Error: -1},
	}, did.Hosts)
}

// TestOneMachine: files of one machine have one clock, even if messages suggest a difference.
func TestOneMachine(t *testing.T) {
	p, q := node("0", 0), node("0", 0)
	q.Monotonic += int64(3 * ms)
	a, b := newWriter(t, p, "tcp://a:1"), newWriter(t, q, "")
	b.op("send", "tcp://a:1", 1, 1, 10*us, 11*us)
	a.op("recv", "tcp://client-17", 1, 1, 0, 4*ms) // b has no address: its peer gave it a name
	a.op("send", "tcp://client-17", 2, 1, 5*ms, 5*ms)
	b.op("recv", "tcp://a:1", 2, 1, 20*us, 3*ms)
	did, events, _ := joined(t, a.close(), b.close())
	require.Len(t, did.Hosts, 1)
	require.Equal(t, 2, did.Messages, "the only client without an address is the only unknown peer")
	for _, e := range events {
		if e.Name == "sent" && e.PID == 2 {
			assert.Equal(t, Micros(3*ms+10*us), e.TS)
		}
	}
}

// TestClientsWithoutAddresses: clients are distinguished by their messages, if these differ.
func TestClientsWithoutAddresses(t *testing.T) {
	server := newWriter(t, node("0", 0), "tcp://s:1")
	var clients []string
	for n, bytes := range []int{10, 20, 20} {
		c := newWriter(t, node("0", 0), "")
		c.op("send unexpected", "tcp://s:1", 1, bytes, 0, 1)
		c.op("recv", "tcp://s:1", 1, 5, 0, 9)
		clients = append(clients, c.close())
		peer := "tcp://client-" + string(rune('a'+n))
		server.op("unexpected", peer, 1, bytes, time.Duration(2*n+2), time.Duration(2*n+3))
		server.op("send", peer, 1, 5, 3, 4)
	}
	name := server.close()
	did, _, _ := joined(t, name, clients[0])
	assert.Equal(t, 2, did.Messages, "two other clients are not traced")
	did, _, _ = joined(t, name, clients[0], clients[1], clients[2])
	assert.Equal(t, 2, did.Messages, "nothing tells the second and the third apart")
}

// TestDoubtfulMessages: there is no arrow where the ends do not fit, or may not.
func TestDoubtfulMessages(t *testing.T) {
	a, b := newWriter(t, node("0", 0), "tcp://a:1"), newWriter(t, node("1", 0), "tcp://b:1")
	for n, bytes := range []int{1, 2, 3} {
		a.op("send", "tcp://b:1", 5, bytes, time.Duration(n), time.Duration(n))
	}
	for n, bytes := range []int{1, 3} { // the second is not in the file
		b.op("recv", "tcp://a:1", 5, bytes, time.Duration(n), time.Duration(10+n))
	}
	did, _, _ := joined(t, a.close(), b.close())
	assert.Equal(t, 1, did.Messages)

	c, d := newWriter(t, node("0", 0), "tcp://c:1"), newWriter(t, node("1", 0), "tcp://d:1")
	for n := range 5000 { // more than fit into the ring
		_ = c.k.Put(&trace.Event{Kind: &bmiKind, Phase: trace.Whole, ID: uint64(n + 1), Nums: [...]int64{8, 5, trace.None, 0, 5: 0}, Strs: [...]string{"tcp://d:1", "", ""}})
	}
	d.op("recv", "tcp://c:1", 5, 8, 0, 1)
	did, _, _ = joined(t, c.close(), d.close())
	assert.Equal(t, 0, did.Messages)
	assert.Equal(t, 1, did.Lossy)
}

// TestCutFiles: a file that ends anywhere is read up to there; without its header it is refused.
func TestCutFiles(t *testing.T) {
	w := newWriter(t, node("0", 0), "tcp://a:1")
	w.op("send", "tcp://b:1", 7, 8, 1, 2)
	text, err := os.ReadFile(w.close())
	require.NoError(t, err)
	header := bytes.IndexByte(text[2:], '\n') + 2
	whole := len(text) - len("\n]\n")
	for n := range len(text) + 1 {
		r, err := NewReader("cut", bytes.NewReader(text[:n]))
		if n < header-1 { // with its brace, but without the comma, the header is complete
			require.ErrorIs(t, err, ErrFormat, "%d bytes", n)
			continue
		}
		require.NoError(t, err, "%d bytes", n)
		count := 0
		for {
			if _, err = r.Next(); err != nil {
				break
			}
			count++
		}
		require.Equal(t, io.EOF, err, "%d bytes", n)
		require.Equal(t, n <= whole+1, r.Cut, "%d bytes", n)
		require.LessOrEqual(t, count, 5)
	}
}

// TestHostileFiles: each is refused, with the line and what is wrong.
func TestHostileFiles(t *testing.T) {
	header := `{"name":"viaduct_trace","ph":"M","ts":0,"pid":1,"tid":0,"args":{"version":"1","wall_ns":"1","monotonic_ns":"1"}}`
	for text, want := range map[string]string{
		"":                                 "it is empty",
		"{}":                               "does not begin with",
		"[\n{}\n]\n":                       "no phase",
		"[\n{\"name\":\"x\",\"ph\":\"X\"}": "header is missing",
		"[\n" + strings.Replace(header, `"1"`, `"2"`, 1):                                   "version",
		"[\n" + strings.Replace(header, `"wall_ns":"1"`, `"wall_ns":"x"`, 1):               "times of the header",
		"[\n" + header + ",\n{]\n" + header:                                                "line 3",
		"[\n" + header + "\n]\nmore":                                                       "follows the end",
		"[\n" + header + ",\n" + strings.Repeat("x", 1<<17):                                "too long",
		"[\n" + header + `,` + "\n" + `{"name":"x","ph":"X","ts":1e300}` + "\n" + header:   "a time of",
		"[\n" + header + `,` + "\n" + `{"name":"x","ph":"X","ts":1.2.3}` + "\n" + header:   "invalid character",
		"[\n" + header + `,` + "\n" + `{"cat":"bmi","ph":"e","args":{"us":"x"}}` + "\n]\n": "a time of",
	} {
		name := filepath.Join(t.TempDir(), "t.json")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := Summarize([]string{name}, 3)
		assert.ErrorContains(t, err, want, "%.200s", text)
	}
	_, err := Summarize([]string{t.TempDir()}, 3)
	assert.ErrorIs(t, err, ErrFormat)
}

func TestMicros(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "1.5": 1500, "-2.001": -2001, "3.0004": 3000, "7.": 7000} {
		var m Micros
		require.NoError(t, m.UnmarshalJSON([]byte(text)), text)
		assert.Equal(t, Micros(want), m, text)
	}
	for _, text := range []string{"", "-", ".5", "1e3", "x", "1.-1", "9999999999999999999", "+1", "1.0000000000"} {
		var m Micros
		assert.Error(t, m.UnmarshalJSON([]byte(text)), text)
	}
}

func FuzzFiles(f *testing.F) {
	header := `{"name":"viaduct_trace","ph":"M","ts":0,"pid":1,"tid":0,"args":{"version":"1","wall_ns":"1","monotonic_ns":"1"}}`
	endpoint := `{"name":"viaduct_endpoint","ph":"M","ts":0,"pid":1,"tid":1,"args":{"method":"tcp","address":"tcp://a"}}`
	op := `{"name":"send","cat":"bmi","ph":"e","ts":5.000,"pid":1,"tid":1,"id2":{"local":"0x1"},"args":{"us":1,"bytes":8,"tag":7,"peer":"tcp://a"}}`
	f.Add([]byte("["), []byte(""))
	f.Add([]byte("[\n"+header+",\n"+endpoint+",\n"+op+"\n]\n"), []byte("[\n"+header+",\n"+strings.Replace(op, "send", "recv", 1)))
	golden, err := os.ReadFile("testdata/joined.json")
	if err == nil {
		f.Add(golden, golden)
	}
	f.Fuzz(func(t *testing.T, one, other []byte) {
		dir := t.TempDir()
		names := []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
		require.NoError(t, os.WriteFile(names[0], one, 0o600))
		require.NoError(t, os.WriteFile(names[1], other, 0o600))
		_, _ = Summarize(names, 3)
		var out bytes.Buffer
		if _, err := Join(&out, names); err != nil {
			return
		}
		r, err := NewReader("joined", &out)
		require.NoError(t, err)
		for err == nil {
			_, err = r.Next()
		}
		require.True(t, err == io.EOF || strings.Contains(err.Error(), "a time of"), "%v", err)
	})
}
