package gather

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
	"github.com/viaduct-hpc/viaduct/internal/watch/watchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTargets(t *testing.T) {
	for text, want := range map[string]Target{
		"node1:9100": {address, "node1:9100"}, "http://node1:9100/": {address, "node1:9100"}, ":9100": {address, "localhost:9100"}, "[::1]:9": {address, "[::1]:9"},
		"unix:/run/x": {socket, "/run/x"}, "dir:/run": {folder, "/run"},
	} {
		got, err := ParseTarget(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
		again, err := ParseTarget(got.String())
		require.NoError(t, err, text)
		assert.Equal(t, got, again)
	}
	for _, text := range []string{"", "node1", "node1:", "unix:", "dir:", "http://node1", "http://node1:9100/x", "a:b:c"} {
		_, err := ParseTarget(text)
		assert.Error(t, err, text)
	}
}

// shown is a view of some targets.
func shown(t *testing.T, q table.Query, targets ...string) *view.View {
	t.Helper()
	v, err := open(t, targets...).View(t.Context(), query(t, q))
	require.NoError(t, err)
	return v
}

func query(t *testing.T, q table.Query) table.Query {
	t.Helper()
	q, err := table.New(q)
	require.NoError(t, err)
	return q
}

func open(t *testing.T, targets ...string) *Gatherer {
	t.Helper()
	var all []Target
	for _, text := range targets {
		one, err := ParseTarget(text)
		require.NoError(t, err)
		all = append(all, one)
	}
	g := New(all)
	g.timeMax = wallclock.Patience
	t.Cleanup(g.Close)
	return g
}

func TestAJobInAFolder(t *testing.T) {
	dir := t.TempDir()
	for rank := range 8 {
		watchtest.Serve(t, dir, fmt.Sprintf("node1-%d.sock", 5000+rank), func(second int) *watch.Snapshot { return watchtest.Job(8, second)[rank] })
	}
	// The socket of a killed process, a file that is no socket, and a link.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "dead.sock"), Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".swept"), nil, 0o600))
	require.NoError(t, os.Symlink("node1-5000.sock", filepath.Join(dir, "link.sock")))

	v := shown(t, table.Query{}, "dir:"+dir)
	require.Len(t, v.Processes, 8)
	require.Len(t, v.Jobs, 1)
	assert.Equal(t, 8, v.Jobs[0].Seen)
	assert.Empty(t, v.Jobs[0].Missing)
	assert.Equal(t, []int{0, 1, 2}, v.Jobs[0].Cycles[0].Path)
	assert.Empty(t, v.Notes)
}

func TestPagesOverProcesses(t *testing.T) {
	dir := t.TempDir()
	var targets []string
	for i := range 3 {
		targets = append(targets, "unix:"+watchtest.Serve(t, dir, fmt.Sprint(i), func(second int) *watch.Snapshot {
			s := watchtest.Client(40, second)
			s.PID += i
			return s
		}))
	}
	g := open(t, targets...)
	var seen []string
	for offset := 0; offset < 130; offset += 30 {
		v, err := g.View(t.Context(), query(t, table.Query{Sort: "address", Ascending: true, Offset: offset, Limit: 30}))
		require.NoError(t, err)
		require.Equal(t, 120, v.Peers.Matched)
		for _, p := range v.Peers.Rows {
			seen = append(seen, p.Address)
		}
	}
	require.Len(t, seen, 120)
	require.IsNonDecreasing(t, seen)
	for i := range 9 {
		targets = append(targets, fmt.Sprintf("unix:%s/none%d", dir, i))
	}
	_, err := open(t, targets...).View(t.Context(), query(t, table.Query{Offset: 99_900, Limit: 100}))
	require.ErrorContains(t, err, "offset=99900 is too far down for 12 processes")
}

// TestSourcesThatSendAll: a process that does not support tables works as well.
func TestSourcesThatSendAll(t *testing.T) {
	var second atomic.Int64
	path := watchtest.ServeHandler(t, t.TempDir(), "s", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		table.Write(w, watchtest.Client(50, int(second.Add(1))))
	}))
	g := open(t, "unix:"+path)
	for round := range 2 {
		v, err := g.View(t.Context(), query(t, table.Query{Limit: 3}))
		require.NoError(t, err)
		require.Len(t, v.Peers.Rows, 3)
		require.Equal(t, 50, v.Peers.Known)
		require.Equal(t, round == 1, v.Peers.Rows[0].Rates.BytesSent > 0)
	}
}

func TestHostileProcesses(t *testing.T) {
	peer := func(fields string) string { return `{"Endpoints":[{"Peers":[{` + fields + `}]}]}` }
	for name, c := range map[string]struct{ body, want string }{
		"nothing":               {"", "its snapshot ends in the middle"},
		"half":                  {`{"PID":1,"Endp`, "its snapshot ends in the middle"},
		"not JSON":              {"<html>", "its answer is not a snapshot: invalid character"},
		"NaN":                   {`{"Server":{"Requests":[{"Sum":NaN}]}}`, "not a snapshot: invalid character 'N'"},
		"a huge number":         {`{"Server":{"Requests":[{"Sum":1e999}]}}`, "not a snapshot"},
		"a negative counter":    {peer(`"Lost":-1`), "not a snapshot"},
		"another type":          {`{"Endpoints":"x"}`, "not a snapshot"},
		"a deep nest":           {`{"Counts":` + strings.Repeat("[", 20_000), "not a snapshot"},
		"an escape sequence":    {`{"PID":"` + `\u001b[2J` + `"}`, "not a snapshot"},
		"a negative queue":      {peer(`"QueuedSends":-5`), "its snapshot makes no sense: a queue of -5"},
		"a negative round trip": {peer(`"RoundTrip":-5`), "a round trip of -5e-09"},
		"too many rails":        {peer(`"Rails":[` + strings.Repeat("{},", 64) + `{}]`), "65 rails, over 64"},
		"bounds that fall":      {`{"Server":{"Requests":[{"Bounds":[2,1],"Counts":[0,0,0]}]}}`, "a bound of latencies of 1"},
		"counts and bounds":     {`{"Server":{"Requests":[{"Bounds":[1,2],"Counts":[1]}]}}`, "1 counts for 2 bounds of latencies"},
		"a rank outside":        {`{"Rank":{"Rank":4,"Size":4}}`, "a rank of 4"},
		"waits for no rank":     {`{"Rank":{"Rank":0,"Size":4,"Waits":[{"Peers":[7]}]}}`, "a rank of 7"},
		"a huge job":            {`{"Rank":{"Size":1000000000}}`, "a size of a job of 1e+09"},
		"a table that lies":     {`{"Table":{"Known":1,"Matched":5}}`, "a number of peers that matched of 5"},
		"rows beyond a table":   {`{"Table":{"Known":1,"Matched":0,"Rows":[{}]}}`, "a number of peers that matched of 0"},
		"an infinite rate":      {`{"Table":{"Sum":{"Rates":{"Lost":1e300}}}}`, "a rate of 1e+300"},
		"a giant body":          {`{"Program":"` + strings.Repeat("x", bodyBytesMax) + `"}`, "its snapshot is over 16 MiB"},
		"too many peers":        {`{"Endpoints":[{"Peers":[{}` + strings.Repeat(",{}", peersMax) + `]}]}`, "100001 peers, over 100000"},
	} {
		t.Run(name, func(t *testing.T) {
			path := watchtest.ServeHandler(t, t.TempDir(), "s", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, c.body)
			}))
			v := shown(t, table.Query{}, "unix:"+path)
			require.Len(t, v.Processes, 1)
			require.Contains(t, v.Processes[0].Error, c.want)
			require.Less(t, len(v.Processes[0].Error), 500)
		})
	}
}

func TestProcessesThatDoNotAnswer(t *testing.T) {
	dir := t.TempDir()
	elsewhere := watchtest.ServeHandler(t, dir, "elsewhere", http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	old := watchtest.ServeHandler(t, dir, "old", http.NotFoundHandler())
	good := watchtest.Serve(t, dir, "good", func(second int) *watch.Snapshot { return watchtest.Client(1, second) })
	v := shown(t, table.Query{Limit: 1}, "unix:"+elsewhere, "unix:"+old, "unix:"+good, "unix:"+filepath.Join(dir, "none"))
	require.Len(t, v.Processes, 4)
	assert.Contains(t, v.Processes[0].Error, "it sends its readers to another address")
	assert.Equal(t, "it answers 404 instead of a snapshot: 404 page not found", v.Processes[1].Error)
	assert.Empty(t, v.Processes[2].Error)
	assert.Equal(t, "nobody listens there", v.Processes[3].Error)
	v = shown(t, table.Query{}, "dir:"+filepath.Join(dir, "nowhere"))
	assert.Empty(t, v.Processes)
	assert.Contains(t, v.Notes[0], "no such file or directory")
}

// TestASlowProcess: a slow process does not delay requests to others, and the wait for it is
// limited.
func TestASlowProcess(t *testing.T) {
	dir := t.TempDir()
	asked := make(chan struct{})
	answer := func(w http.ResponseWriter) { table.Write(w, watchtest.Client(1, 0)) }
	slow := watchtest.ServeHandler(t, dir, "slow", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { <-asked; answer(w) }))
	good := watchtest.ServeHandler(t, dir, "good", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { close(asked); answer(w) }))
	v := shown(t, table.Query{}, "unix:"+slow, "unix:"+good)
	assert.Empty(t, v.Processes[0].Error)
	assert.Empty(t, v.Processes[1].Error)

	never := watchtest.ServeHandler(t, dir, "never", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	g := open(t, "unix:"+never)
	g.timeMax = time.Millisecond
	v, err := g.View(t.Context(), query(t, table.Query{}))
	require.NoError(t, err)
	assert.Equal(t, "no answer in time", v.Processes[0].Error)
}

// TestSocketsOfOthers: in a folder, those of other users are not asked. Root asks all.
func TestSocketsOfOthers(t *testing.T) {
	need.AsRoot(t)
	dir := t.TempDir()
	path := watchtest.Serve(t, dir, "s", func(second int) *watch.Snapshot { return watchtest.Client(1, second) })
	require.NoError(t, os.Chown(path, 12345, 12345))
	found, foreign, err := list(dir)
	require.NoError(t, err)
	assert.Len(t, found, 1)
	assert.Zero(t, foreign)
	was := euid
	t.Cleanup(func() { euid = was })
	euid = func() int { return 777 }
	found, foreign, err = list(dir)
	require.NoError(t, err)
	assert.Empty(t, found)
	assert.Equal(t, 1, foreign)
	v := shown(t, table.Query{}, "dir:"+dir)
	assert.Empty(t, v.Processes)
	assert.Equal(t, []string{"dir:" + dir + ": 1 sockets of other users are not asked"}, v.Notes)

	// The owner of the file does not count: the user of the listening process does.
	require.NoError(t, os.Chown(path, 777, 777))
	euid = func() int { return 777 }
	trustRoot = false
	t.Cleanup(func() { trustRoot = true })
	v = shown(t, table.Query{}, "dir:"+dir)
	require.Len(t, v.Processes, 1)
	assert.Contains(t, v.Processes[0].Error, "a process of another user listens there")
	assert.Empty(t, shown(t, table.Query{}, "unix:"+path).Processes[0].Error, "it was named")
}

func TestNamesAreCleaned(t *testing.T) {
	for text, want := range map[string]string{
		"via+udp://node1:7": "via+udp://node1:7", "größe": "größe", "": "",
		"\x1b[2J\x07\r\n": "?[2J???", "\u202egnp.exe": "?gnp.exe", "a\u200bb": "a?b", "\xff": "?", "\u0085": "?", "a\u0301\u0302": "a??",
		strings.Repeat("x", 300): strings.Repeat("x", 200) + "…",
	} {
		assert.Equal(t, want, Clean(text), "%q", text)
	}
	var text bytes.Buffer
	require.NoError(t, json.NewEncoder(&text).Encode(&watch.Snapshot{Program: "\x1b[31m", Endpoints: []watch.Endpoint{{Peers: []watch.Peer{{Address: "\x1b]0;x\x07"}}}}}))
	s, err := Read(&text)
	require.NoError(t, err)
	assert.Equal(t, "?[31m", s.Program)
	assert.Equal(t, "?]0;x?", s.Endpoints[0].Peers[0].Address)
}

// FuzzRead reads anything. What passes makes a view, whose text is clean.
func FuzzRead(f *testing.F) {
	for _, s := range append(watchtest.Job(8, 0), watchtest.Client(3, 0), watchtest.Server("io1", 0), watchtest.Hostile(0)) {
		text, err := json.Marshal(s)
		require.NoError(f, err)
		f.Add(text)
	}
	q, err := table.New(table.Query{Limit: 10})
	require.NoError(f, err)
	ranked, err := json.Marshal(new(table.Ranker).Rank(watchtest.Client(20, 0), q))
	require.NoError(f, err)
	f.Add(ranked)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var j view.Joiner
		var v *view.View
		for second := range 2 {
			s.Taken = s.Taken.Add(time.Duration(second) * time.Second)
			v = j.Join(watchtest.Epoch, []view.Sample{{Target: "x", Snapshot: new(table.Ranker).Rank(s, q)}}, q)
		}
		out, err := json.Marshal(v)
		require.NoError(t, err, "no number in it is NaN or infinite")
		for _, r := range string(out) {
			require.True(t, r == ' ' || unicode.IsGraphic(r), "%q", r)
		}
		if s.Table == nil {
			require.LessOrEqual(t, len(v.Peers.Rows), 10)
		}
	})
}
