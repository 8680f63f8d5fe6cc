package tracefile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// A writer writes the file of a process as package bmi does.
type writer struct {
	t    *testing.T
	name string
	tr   *trace.Trace
	k    *trace.Track
}

var bmiKind = trace.Kind{
	Name: "send", Category: "bmi", Nums: [...]string{"bytes", "tag", "class", "lane", 5: ""}, Strs: [...]string{"peer", "method", "result"},
}

func newWriter(t *testing.T, p trace.Process, address string) *writer {
	t.Helper()
	w := &writer{t: t, name: filepath.Join(t.TempDir(), "rank-"+p.Rank+".json")}
	var err error
	w.tr, err = trace.Create(w.name, trace.Options{Process: &p, Every: -1, Clock: func() time.Duration { return 0 }})
	require.NoError(t, err)
	w.k = w.tr.NewTrack("tcp", 0)
	w.tr.Meta("viaduct_endpoint", w.k, "method", "tcp", "address", address)
	return w
}

func (w *writer) op(name, peer string, tag, bytes int, at, end time.Duration) {
	e := trace.Event{
		Kind: &bmiKind, Phase: trace.Whole, Name: name, ID: w.k.NextID(), At: at, End: end,
		Nums: [...]int64{int64(bytes), int64(tag), trace.None, 0, 5: 0}, Strs: [...]string{peer, "tcp", ""},
	}
	if name == "unexpected" {
		e.Phase = trace.Call
	}
	require.True(w.t, w.k.Put(&e))
}

func (w *writer) close() string {
	require.NoError(w.t, w.tr.Close())
	return w.name
}

// joined joins files and returns what was done, and the events, which obey the rules of the format.
func joined(t *testing.T, names ...string) (*Joined, []Event, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "joined.json")
	f, err := os.Create(name)
	require.NoError(t, err)
	did, err := Join(f, names)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	var all []Event
	_, err = Each(name, func(_ *Reader, _ int, e *Event) error {
		all = append(all, *e)
		return nil
	})
	require.NoError(t, err)
	checkRules(t, name)
	return did, all, name
}

// checkRules checks a file by the rules of the document "Trace Event Format", and by what Perfetto's importer adds to them: no \u
// escapes, and no flows but of slices.
func checkRules(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NotContains(t, string(text), `\u`)
	var all []map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	type key struct {
		pid, tid float64
		id       string
	}
	calls, asyncs := map[key][]map[string]any{}, map[key][]map[string]any{}
	out, in := map[float64]float64{}, map[float64]float64{}
	for _, e := range all {
		pid, ok := e["pid"].(float64)
		tid, ok2 := e["tid"].(float64)
		ts, ok3 := e["ts"].(float64)
		require.True(t, ok && ok2 && ok3 && e["name"] != "", "%v", e)
		if args, ok := e["args"]; ok {
			require.IsType(t, map[string]any{}, args)
		}
		switch e["ph"] {
		case "M":
		case "X":
			require.GreaterOrEqual(t, e["dur"], 0.0)
			calls[key{pid, tid, ""}] = append(calls[key{pid, tid, ""}], e)
		case "b", "e", "n":
			id := e["id2"].(map[string]any)["local"].(string)
			require.True(t, strings.HasPrefix(id, "0x"))
			k := key{pid, 0, e["cat"].(string) + id}
			asyncs[k] = append(asyncs[k], e)
		case "i":
			require.Contains(t, []any{"g", "p", "t"}, e["s"])
		default:
			t.Fatalf("phase %v", e["ph"])
		}
		if flow, ok := e["bind_id"].(float64); ok {
			require.Contains(t, []any{"X", "b", "n"}, e["ph"])
			if e["flow_out"] == true {
				require.NotContains(t, out, flow)
				out[flow] = ts
			} else {
				require.Equal(t, true, e["flow_in"])
				in[flow] = ts
			}
		}
	}
	require.Len(t, in, len(out))
	for flow := range out {
		require.Contains(t, in, flow)
	}
	byTime := func(a, b map[string]any) int { return int(1000*a["ts"].(float64)) - int(1000*b["ts"].(float64)) }
	for k, events := range asyncs {
		slices.SortStableFunc(events, byTime) // as Perfetto does
		depth := 0
		for _, e := range events {
			switch e["ph"] {
			case "b":
				depth++
			case "e":
				depth--
			case "n":
				assert.Positive(t, depth, "an instant outside of %v", k)
			}
			require.GreaterOrEqual(t, depth, 0, "%v", k)
		}
	}
	for _, events := range calls {
		slices.SortStableFunc(events, byTime)
		for i := 1; i < len(events); i++ {
			before, e := events[i-1], events[i]
			require.GreaterOrEqual(t, e["ts"], before["ts"])
		}
	}
}
