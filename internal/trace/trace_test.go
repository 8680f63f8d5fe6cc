package trace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a file in memory.
type memory struct {
	mu   sync.Mutex
	b    []byte
	fail error
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return 0, m.fail
	}
	m.b = append(m.b[:at], p...)
	return len(p), nil
}

func (m *memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.b)
}

// events parses the file as JSON, as any reader would.
func (m *memory) events(t *testing.T) (all []map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(m.String()), &all), m.String())
	return all
}

// someone is a process that is the same in every run.
var someone = trace.Process{PID: 7, Rank: "3", Host: "node1", Boot: "b-1", Program: "heat", Wall: 1_700_000_000_123_456_789, Monotonic: 5_000_000_001}

var (
	message = trace.Kind{Name: "send", Category: "bmi", Nums: [6]string{"bytes", "tag"}, Strs: [3]string{"peer", "result"}}
	call    = trace.Kind{Name: "call", Category: "mpi"}
)

// open opens a trace of someone in memory that writes only when it is told to. Its clock stands at *now.
func open(t *testing.T, now *time.Duration, o trace.Options) (*trace.Trace, *memory) {
	t.Helper()
	m := &memory{}
	o.Process, o.Every = &someone, -1
	o.Clock = func() time.Duration { return *now }
	tr, err := trace.New(m, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tr.Close() })
	return tr, m
}

// TestGolden: the text of each phase, exactly.
func TestGolden(t *testing.T) {
	var now time.Duration
	tr, m := open(t, &now, trace.Options{})
	k := tr.NewTrack("via+shm", 0)
	tr.Meta("viaduct_endpoint", k, "method", "via+shm", "address", `via+shm://a"b\`)
	first, second := k.NextID(), k.NextID()
	require.True(t, k.Put(&trace.Event{Kind: &message, Phase: trace.Whole, ID: first, At: 1, End: 1500,
		Nums: [6]int64{8, 5}, Strs: [3]string{"via+shm://b"}}))
	require.True(t, k.Put(&trace.Event{Kind: &message, Phase: trace.Begin, ID: second, At: 2_000_001,
		Nums: [6]int64{1 << 40, trace.None}, Strs: [3]string{"bad\n\x00\xff", "größer"}}))
	require.True(t, k.Put(&trace.Event{Kind: &message, Phase: trace.End, ID: second, At: 2_000_001, End: 12_345_678_900, Nums: [6]int64{0, trace.None}}))
	require.True(t, k.Put(&trace.Event{Kind: &call, Phase: trace.Call, Name: "MPI_Send", At: 3, End: 4003}))
	require.True(t, k.Put(&trace.Event{Kind: &call, Phase: trace.Call, At: 5, End: 4, Name: strings.Repeat("x", 300)}))
	require.NoError(t, tr.Close())
	golden.Check(t, "testdata/phases.json", []byte(m.String()))
}

// TestEveryWriteLeavesAnArray: after each write, the file is complete JSON, so a process can be killed between any two.
func TestEveryWriteLeavesAnArray(t *testing.T) {
	var now time.Duration
	tr, m := open(t, &now, trace.Options{})
	require.Len(t, m.events(t), 1, "the header")
	k := tr.NewTrack("t", 8)
	for n := range 5 {
		require.True(t, k.Put(&trace.Event{Kind: &call, At: time.Duration(n)}))
		require.NoError(t, tr.Flush())
		require.Len(t, m.events(t), 4+n) // header, names of process and track, events
	}
	require.NoError(t, tr.Flush())
	require.NoError(t, tr.Close())
	require.NoError(t, tr.Close())
	require.False(t, tr.NewTrack("late", 0).Put(&trace.Event{Kind: &call}))
	require.NoError(t, tr.Flush())
	require.Len(t, m.events(t), 8)
}

// TestOverflowIsCounted: what finds the ring full is dropped, the file says how many, and ends find room after beginnings do not.
func TestOverflowIsCounted(t *testing.T) {
	now := 7 * time.Microsecond
	tr, m := open(t, &now, trace.Options{})
	k := tr.NewTrack("t", 5) // 8
	put := func(p trace.Phase) bool { return k.Put(&trace.Event{Kind: &call, Phase: p, ID: 1}) }
	for range 6 {
		require.True(t, put(trace.Begin))
	}
	require.False(t, put(trace.Begin))
	require.False(t, put(trace.Call))
	require.True(t, put(trace.End))
	require.True(t, put(trace.End))
	require.False(t, put(trace.End))
	require.NoError(t, tr.Flush())
	all := m.events(t)
	require.Equal(t, map[string]any{"name": "events dropped", "cat": "viaduct", "ph": "i", "s": "t", "ts": 7.0, "pid": 7.0, "tid": 1.0,
		"args": map[string]any{"dropped": 3.0}}, all[len(all)-1])
	require.True(t, put(trace.Begin), "there is room again")
	require.NoError(t, tr.Close())
	require.Equal(t, 1, strings.Count(m.String(), "events dropped"), "each is told once")
	require.Equal(t, 7, strings.Count(m.String(), `"ph":"b"`))
}

// TestTracksEnd: what an ended Track has put is written, and then it is forgotten.
func TestTracksEnd(t *testing.T) {
	var now time.Duration
	tr, m := open(t, &now, trace.Options{})
	for n := range 5000 { // more than may exist at once
		k := tr.NewTrack("t", 1)
		require.True(t, k.Put(&trace.Event{Kind: &call}), "track %d", n)
		k.Close()
		require.NoError(t, tr.Flush())
	}
	require.Equal(t, 5000, strings.Count(m.String(), `"ph":"X"`))
	for range 4096 {
		tr.NewTrack("t", 1)
	}
	require.False(t, tr.NewTrack("one too many", 1).Put(&trace.Event{Kind: &call}))
	require.NoError(t, tr.Close())
	require.Contains(t, m.String(), `"dropped":1}`)
}

// TestTheFileIsLimited: a full file says so, and is still a valid array.
func TestTheFileIsLimited(t *testing.T) {
	var now time.Duration
	tr, m := open(t, &now, trace.Options{FileBytesMax: 1000})
	k := tr.NewTrack("t", 0)
	for range 20 {
		k.Put(&trace.Event{Kind: &call})
		require.NoError(t, tr.Flush())
	}
	require.NoError(t, tr.Close())
	all := m.events(t)
	require.Equal(t, "the file is full", all[len(all)-1]["name"])
	require.Less(t, len(m.String()), 1200)
}

// TestErrorsEndTheTrace: a failed write is reported, and the program goes on.
func TestErrorsEndTheTrace(t *testing.T) {
	var now time.Duration
	tr, m := open(t, &now, trace.Options{})
	k := tr.NewTrack("t", 0)
	m.fail = errors.New("no space left")
	for range 5000 {
		k.Put(&trace.Event{Kind: &call})
	}
	require.ErrorContains(t, tr.Flush(), "no space left")
	m.fail = nil
	require.ErrorContains(t, tr.Close(), "no space left")
	require.Len(t, m.events(t), 1)
	m.fail = errors.New("full")
	_, err := trace.New(m, trace.Options{Every: -1})
	require.ErrorContains(t, err, "trace: full")
}

// TestWritesByItself: events are written after a while, or soon if a ring is half full.
func TestWritesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		tr, err := trace.New(m, trace.Options{Process: &someone})
		require.NoError(t, err)
		k := tr.NewTrack("t", 16)
		count := func() int { return strings.Count(m.String(), `"ph":"X"`) }
		began := time.Now()
		require.True(t, k.Put(&trace.Event{Kind: &call, At: k.Now()}))
		const between = 250 * time.Millisecond // the writer acts each 100 ms, and rests for 20 ms then: not at the same moment of virtual time
		time.Sleep(between)
		require.Equal(t, 1, count())
		for range 8 {
			require.True(t, k.Put(&trace.Event{Kind: &call, At: k.Now()}))
		}
		synctest.Wait()
		require.Equal(t, 9, count(), "without a wait")
		require.Equal(t, between, time.Since(began))
		require.NoError(t, tr.Close())
	})
}

// TestManyProducers: every lost event is counted, and the events of one producer stay in order.
func TestManyProducers(t *testing.T) {
	m := &memory{}
	tr, err := trace.New(m, trace.Options{Process: &someone, Every: time.Microsecond})
	require.NoError(t, err)
	shared := tr.NewTrack("shared", 64)
	const each = 2000
	var all sync.WaitGroup
	for p := range 4 {
		own := tr.NewTrack(fmt.Sprint("own ", p), 64)
		all.Go(func() {
			for n := range each {
				own.Put(&trace.Event{Kind: &call, At: time.Duration(n), Name: fmt.Sprint("p", p)})
				shared.Share(&trace.Event{Kind: &call, At: time.Duration(n), ID: shared.ShareID()})
			}
		})
	}
	all.Wait()
	require.NoError(t, tr.Close())
	written, dropped, last := 0, 0, map[any]float64{}
	for _, e := range m.events(t) {
		switch e["ph"] {
		case "X":
			written++
			if e["name"] != "call" {
				require.LessOrEqual(t, last[e["name"]], e["ts"])
				last[e["name"]] = e["ts"].(float64)
			}
		case "i":
			dropped += int(e["args"].(map[string]any)["dropped"].(float64))
		}
	}
	require.Equal(t, 2*4*each, written+dropped)
}

func TestPuttingAllocatesNothing(t *testing.T) {
	var now time.Duration
	tr, _ := open(t, &now, trace.Options{})
	k := tr.NewTrack("t", 1<<16)
	assert.Zero(t, testing.AllocsPerRun(100, func() { k.Put(&trace.Event{Kind: &call, At: k.Now()}) }))
}

func BenchmarkPut(b *testing.B) {
	tr, err := trace.New(&memory{}, trace.Options{Process: &someone, Every: -1})
	require.NoError(b, err)
	k := tr.NewTrack("t", 1<<12)
	for b.Loop() {
		if !k.Put(&trace.Event{Kind: &message, At: k.Now(), Strs: [3]string{"via+shm://a"}}) {
			b.StopTimer()
			require.NoError(b, tr.Flush())
			b.StartTimer()
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	name := b.TempDir() + "/t.json"
	tr, err := trace.Create(name, trace.Options{Every: -1})
	require.NoError(b, err)
	k := tr.NewTrack("t", 1<<12)
	n := 0
	for b.Loop() {
		if n++; !k.Put(&trace.Event{Kind: &message, Phase: trace.Whole, ID: uint64(n), At: 123456789, Strs: [3]string{"via+shm://a"}}) {
			require.NoError(b, tr.Flush())
		}
	}
	require.NoError(b, tr.Close())
	info, err := os.Stat(name)
	require.NoError(b, err)
	b.ReportMetric(float64(info.Size())/float64(n), "B/event")
}
