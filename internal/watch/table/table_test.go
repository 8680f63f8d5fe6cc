package table

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// process has n peers with few different values, so that many rows are equal where they are sorted.
func process(rng *rand.Rand, n int) *watch.Snapshot {
	s := &watch.Snapshot{PID: 1, Taken: epoch, Endpoints: make([]watch.Endpoint, 3)}
	for i := range n {
		e := &s.Endpoints[rng.IntN(3)]
		e.Peers = append(e.Peers, watch.Peer{
			Method: []string{"tcp", "via+udp"}[rng.IntN(2)], Address: fmt.Sprintf("node%d:%d", rng.IntN(20), i), State: []string{"READY", "WAIT", "INIT"}[rng.IntN(3)],
			Credits: rng.IntN(5), QueuedSends: rng.IntN(3), RoundTrip: time.Duration(rng.IntN(9)) * time.Millisecond,
			BytesSent: rng.Uint64N(4), Lost: rng.Uint64N(3),
		})
	}
	return s
}

// TestPagesAreThoseOfASlowAndObviousWay compares pages with one that filters by hand, sorts everything stably, and cuts.
func TestPagesAreThoseOfASlowAndObviousWay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	keep := map[string]func(r watch.Row) bool{
		"":                          func(watch.Row) bool { return true },
		"NODE1":                     func(r watch.Row) bool { return strings.Contains(r.Address, "node1") },
		"tcp state=ready":           func(r watch.Row) bool { return r.Method == "tcp" && r.State == "READY" },
		"round-trip>3ms queued=0":   func(r watch.Row) bool { return r.RoundTrip > 3*time.Millisecond && r.QueuedSends == 0 },
		"credits<2 lost>0 sent<2KB": func(r watch.Row) bool { return r.Credits < 2 && r.Lost > 0 },
		"nobody":                    func(watch.Row) bool { return false },
	}
	for range 6 {
		s := process(rng, rng.IntN(300))
		for filter, keeps := range keep {
			for _, column := range Columns() {
				q, err := New(Query{Sort: column, Ascending: rng.IntN(2) == 0, Filter: filter, Offset: rng.IntN(60), Limit: rng.IntN(40)})
				require.NoError(t, err)
				var all []watch.Row
				for e := range s.Endpoints {
					for _, p := range s.Endpoints[e].Peers {
						if r := (watch.Row{Peer: p, Endpoint: e}); keeps(r) {
							all = append(all, r)
						}
					}
				}
				slices.SortFunc(all, func(a, b watch.Row) int { return obvious(q, a, b) })
				got := new(Ranker).Rank(s, q).Table
				require.Equal(t, len(all), got.Matched, filter)
				require.Equal(t, peers(s), got.Known)
				from := min(q.Offset, len(all))
				require.Equal(t, append([]watch.Row{}, all[from:min(from+q.Limit, len(all))]...), append([]watch.Row{}, got.Rows...), "%+v", q)
			}
		}
	}
}

// obvious orders rows by text: numbers are padded.
func obvious(q Query, a, b watch.Row) int {
	key := func(r watch.Row) string {
		if text := texts[q.Sort]; text != nil {
			return text(&r)
		}
		return fmt.Sprintf("%030.9f", numbers[q.Sort](&r))
	}
	order := strings.Compare(key(a), key(b))
	if !q.Ascending {
		order = -order
	}
	if order != 0 {
		return order
	}
	return strings.Compare(fmt.Sprintf("%s %s %04d", a.Address, a.Method, a.Endpoint), fmt.Sprintf("%s %s %04d", b.Address, b.Method, b.Endpoint))
}

// TestPagesOfSeveralProcessesMerge: the first rows of each process are enough for a page of all.
func TestPagesOfSeveralProcessesMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		q, err := New(Query{Sort: "address", Offset: rng.IntN(50), Limit: 1 + rng.IntN(20)})
		require.NoError(t, err)
		var every, merged []watch.Row
		for range 1 + rng.IntN(5) {
			s := process(rng, rng.IntN(60))
			all, err := New(Query{Sort: "address", Limit: LimitMax})
			require.NoError(t, err)
			every = append(every, new(Ranker).Rank(s, all).Table.Rows...)
			merged = append(merged, new(Ranker).Rank(s, q.Top()).Table.Rows...)
		}
		cut := func(rows []watch.Row) []watch.Row {
			slices.SortStableFunc(rows, func(a, b watch.Row) int { return q.Compare(&a, &b) })
			from := min(q.Offset, len(rows))
			return append([]watch.Row{}, rows[from:min(from+q.Limit, len(rows))]...)
		}
		require.Equal(t, cut(every), cut(merged))
	}
}

func TestRates(t *testing.T) {
	at := func(second int, peers ...watch.Peer) *watch.Snapshot {
		return &watch.Snapshot{PID: 1, Taken: epoch.Add(time.Duration(second) * 100 * time.Millisecond), Endpoints: []watch.Endpoint{{Peers: peers}}}
	}
	peer := func(address string, sent uint64) watch.Peer { return watch.Peer{Address: address, BytesSent: sent} }
	q, err := New(Query{Sort: "address", Ascending: true, Limit: 10})
	require.NoError(t, err)
	var k Ranker
	sent := func(s *watch.Snapshot) (rates []float64) {
		for _, r := range k.Rank(s, q).Table.Rows {
			rates = append(rates, r.Rates.BytesSent)
		}
		return rates
	}
	assert.Equal(t, []float64{0, 0}, sent(at(0, peer("a", 100), peer("b", 7))), "the first time there is nothing to compare with")
	assert.Equal(t, []float64{0, 0}, sent(at(1, peer("a", 200), peer("b", 8))), "too soon")
	assert.Equal(t, []float64{100, 2}, sent(at(10, peer("a", 200), peer("b", 9))))
	// Peers that move, come and begin again.
	assert.Equal(t, []float64{50, 0, 0}, sent(at(30, peer("c", 1000), peer("b", 3), peer("a", 300))))
	again := at(40, peer("a", 5000))
	again.PID = 2
	assert.Equal(t, []float64{0}, sent(again), "another process")
}

func TestMistakesInQueries(t *testing.T) {
	for text, want := range map[string]string{
		"sort=speed":                              `sort="speed": there is no such column; want one of address, credits, lost`,
		"order=up":                                `order="up": want ascending or descending`,
		"offset=x":                                `offset="x": want a whole number`,
		"offset=-1":                               "offset=-1: want 0 to 100000",
		"offset=99901":                            "offset=99901: want 0 to 100000, less the limit",
		"limit=100001":                            "limit=100001: want 0 to 100000",
		"filter=" + strings.Repeat("a", 201):      "filter: 201 bytes are too many, at most 200",
		"filter=" + strings.Repeat("a+", 17):      "filter: 17 words are too many, at most 16",
		"filter=speed%3E1":                        `filter "speed>1": there is no column "speed"`,
		"filter=state%3Ex":                        `filter "state>x": state is text and can only be compared by =`,
		"filter=lost%3Ex":                         `filter "lost>x": want a number, or one with a unit such as 10ms or 64KiB, behind >`,
		"filter=lost%3ENaN":                       "want a number",
		"filter=lost%3E1e999":                     "want a number",
		"filter=lost%3E" + "9e307TiB":             "want a number",
		"offset=99999999999999999999999999999999": "want a whole number",
	} {
		v, err := url.ParseQuery(text)
		require.NoError(t, err)
		_, err = Parse(v)
		require.ErrorContains(t, err, want, text)
		assert.True(t, Asked(v))
	}
	q, err := Parse(url.Values{})
	require.NoError(t, err)
	assert.Equal(t, Query{Sort: "rate", Limit: 100}, q)
	assert.False(t, Asked(url.Values{"x": {"1"}}))
}

func FuzzQuery(f *testing.F) {
	f.Add("sort=lost&order=ascending&offset=3&limit=7&filter=node1+round-trip%3E1.5ms+sent%3C64KiB+state%3DREADY")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		q, err := Parse(v)
		if err != nil {
			return
		}
		again, err := Parse(q.Values())
		require.NoError(t, err)
		s := process(rand.New(rand.NewPCG(5, 6)), 30)
		one, two := new(Ranker).Rank(s, q), new(Ranker).Rank(s, again)
		require.Equal(t, one.Table, two.Table, "a query survives being written into a URL")
		require.LessOrEqual(t, len(one.Table.Rows), min(q.Limit, one.Table.Matched))
	})
}

func TestSamplerTakesOneSnapshotForManyViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := 0
		m := &Sampler{Take: func() *watch.Snapshot {
			taken++
			return &watch.Snapshot{PID: 1, Taken: time.Now(), Endpoints: []watch.Endpoint{{Peers: []watch.Peer{{Address: "a", BytesSent: uint64(1000 * taken)}}}}}
		}}
		ask := func(query string) *watch.Snapshot {
			w := httptest.NewRecorder()
			m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/snapshot"+query, nil))
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			var s watch.Snapshot
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &s))
			return &s
		}
		for range 20 {
			s := ask("")
			require.Nil(t, s.Table)
			require.Len(t, s.Endpoints[0].Peers, 1)
		}
		require.Equal(t, 1, taken)
		ask("?limit=10")
		<-time.After(time.Second)
		s := ask("?limit=10")
		require.Equal(t, 2, taken)
		require.Empty(t, s.Endpoints[0].Peers, "they are in the table")
		require.InDelta(t, 1000, s.Table.Rows[0].Rates.BytesSent, 0)
		require.InDelta(t, 1000, s.Table.Sum.Rates.BytesSent, 0)
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/snapshot?sort=speed", nil))
		require.Equal(t, http.StatusBadRequest, w.Code)
	})
}

// BenchmarkTable is an update of a page for a process with 10,000 peers, whose snapshot has been taken: the table, and its JSON.
func BenchmarkTable(b *testing.B) {
	q, err := New(Query{Limit: 100})
	require.NoError(b, err)
	snapshots := []*watch.Snapshot{process(rand.New(rand.NewPCG(1, 1)), 10_000), process(rand.New(rand.NewPCG(1, 1)), 10_000)}
	var k Ranker
	b.ReportAllocs()
	bytes := 0
	for i := 0; b.Loop(); i++ {
		s := *snapshots[i%2]
		s.Taken = epoch.Add(time.Duration(i) * time.Second)
		text, err := json.Marshal(k.Rank(&s, q))
		require.NoError(b, err)
		bytes = len(text)
	}
	b.ReportMetric(float64(bytes), "bytes/update")
}
