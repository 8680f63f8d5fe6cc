package prom

import (
	"math/rand/v2"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

func TestNames(t *testing.T) {
	methods := []string{"tcp", "via+shm"}
	for name, want := range map[string]string{
		"bmi.sleeps":                      "viaduct_bmi_sleeps_total []",
		"bmi.tcp.bytes_sent":              "viaduct_method_sent_bytes_total [tcp]",
		"bmi.via+shm.packets.bytes_sent":  "viaduct_method_packets_sent_bytes_total [via+shm]",
		"bmi.via+shm.nic.rdma_bytes":      "viaduct_method_nic_rdma_bytes_total [via+shm]",
		"bmi.tcp.errors.protocol":         "viaduct_method_errors_total [tcp protocol]",
		"bmi.other.bytes_sent":            "viaduct_bmi_other_sent_bytes_total []",
		"mpi.bad name\nwith \"quotes\" ä": "viaduct_mpi_bad_name_with__quotes____total []",
		"bmi.tcp.errors.a.b":              "viaduct_method_errors_total [tcp a.b]",
		"bmi.queued_unexpected_bytes":     "viaduct_bmi_queued_unexpected_bytes_total []",
	} {
		s := seriesOf(&watch.Count{Name: name, Class: "counter"}, methods)
		if s.values == nil {
			s.values = []string{}
		}
		assert.Equal(t, want, s.name+" "+sprint(s.values), name)
	}
	assert.Equal(t, "viaduct_bmi_slept_seconds_total", seriesOf(&watch.Count{Name: "bmi.slept", Class: "timer", Seconds: true}, nil).name)
	assert.Equal(t, "viaduct_bmi_p50_seconds", seriesOf(&watch.Count{Name: "bmi.p50", Class: "generic", Seconds: true}, nil).name)
	assert.Equal(t, "viaduct_mpi_posted", seriesOf(&watch.Count{Name: "mpi.posted", Class: "level"}, nil).name)
}

func sprint(values []string) string {
	out := "["
	for i, v := range values {
		if i > 0 {
			out += " "
		}
		out += v
	}
	return out + "]"
}

// value returns the only value of a metric with some labels.
func value(t *testing.T, all map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	require.Contains(t, all, name)
	for _, m := range all[name].GetMetric() {
		same := len(m.GetLabel()) == len(labels)/2
		for i := 0; same && i < len(labels); i += 2 {
			l := m.GetLabel()[i/2]
			same = l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if same {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	require.Fail(t, "no such metric", "%s %v in %v", name, labels, all[name])
	return 0
}

func example() *watch.Snapshot {
	now := time.Unix(1000, 0)
	return &watch.Snapshot{
		Program: "p", Version: "v", Started: now.Add(-time.Hour), Taken: now,
		Counts: []watch.Count{
			{Name: "bmi.tcp.bytes_sent", Class: "counter", Text: "bytes", Value: 7},
			{Name: "bmi.via+shm.bytes_sent", Class: "counter", Text: "other words", Value: 8},
		},
		Endpoints: []watch.Endpoint{{
			Methods: []watch.Method{{Name: "tcp"}, {Name: "via+shm"}},
			Peers: []watch.Peer{
				{Method: "tcp", State: "READY", Credits: 3, QueuedSends: 2, QueuedBytes: 20, Window: 100, RoundTrip: time.Second},
				{Method: "tcp", State: "READY", Credits: 4, RoundTrip: time.Millisecond, Rails: []watch.Rail{{State: "READY"}, {State: "INIT"}}},
				{Method: "tcp", State: "\x00\xff a state of a plugin"},
				{Method: "a method that is not open", State: "READY"},
			},
		}},
		Server: &watch.Server{
			Alias: "a", FileSystem: "f", Refused: map[string]uint64{"no right": 5},
			Requests: []watch.Request{{Kind: "io", Count: 6, Failed: 1, Active: 2, Bounds: []float64{0.1, 1}, Counts: []uint64{1, 2, 3}, Sum: 30}},
			Scrub:    &watch.Progress{Running: true, Done: 4, Total: 9, Unit: "datafiles", Found: 1},
		},
		Rank: &watch.Rank{Job: "j", Rank: 2, Size: 4, Waits: []watch.Wait{
			{Call: "MPI_Recv", Since: now.Add(-3 * time.Second)}, {Call: "MPI_Recv", Since: now.Add(-time.Second)},
		}},
	}
}

func TestValues(t *testing.T) {
	got := gather(t, example)
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{7, "viaduct_method_sent_bytes_total", []string{"method", "tcp"}},
		{8, "viaduct_method_sent_bytes_total", []string{"method", "via+shm"}},
		{2, "viaduct_peers", []string{"method", "tcp", "state", "READY"}},
		{1, "viaduct_peers", []string{"method", "tcp", "state", "other"}},
		{0, "viaduct_peers", []string{"method", "via+shm", "state", "READY"}},
		{7, "viaduct_peers_credits", []string{"method", "tcp"}},
		{20, "viaduct_peers_queued_bytes", []string{"method", "tcp"}},
		{1, "viaduct_peers_highest_round_trip_seconds", []string{"method", "tcp"}},
		{1, "viaduct_rails", []string{"method", "tcp", "state", "INIT"}},
		{5, "viaduct_pvfs_refused_total", []string{"reason", "no right"}},
		{1, "viaduct_pvfs_requests_failed_total", []string{"kind", "io"}},
		{4, "viaduct_pvfs_work_done", []string{"unit", "datafiles", "work", "scrub"}},
		{2, "viaduct_mpi_waits", []string{"call", "MPI_Recv"}},
		{3, "viaduct_mpi_longest_wait_seconds", nil},
	} {
		assert.InDelta(t, want.value, value(t, got, want.name, want.labels...), 1e-9, "%s %v", want.name, want.labels)
	}
	h := got["viaduct_pvfs_request_duration_seconds"].GetMetric()[0].GetHistogram()
	assert.EqualValues(t, 6, h.GetSampleCount())
	assert.EqualValues(t, 3, h.GetBucket()[1].GetCumulativeCount(), "buckets are cumulative")
	assert.InDelta(t, 30, h.GetSampleSum(), 1e-9)
}

// TestStrangeCounts: strange counters of another process do not prevent the export of others.
func TestStrangeCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	classes := []string{"counter", "level", "timer", "size", "generic", "nonsense"}
	names := []string{
		"peers", "bmi.tcp.bytes_sent", "bmi.tcp.sent_bytes", "build.info", "bmi.tcp.errors", "bmi.tcp.errors.x", "method.errors",
		"pvfs.request_duration_seconds", "", "\xff", "bmi.tcp.errors.\xff", "..", "mpi.rank", "bmi.sleeps", "bmi_sleeps",
	}
	for range 200 {
		got := gather(t, func() *watch.Snapshot {
			s := example()
			for range 10 {
				c := watch.Count{Name: names[rng.IntN(len(names))], Class: classes[rng.IntN(len(classes))], Text: "t", Seconds: rng.IntN(2) == 0}
				if rng.IntN(2) == 0 {
					c.Text = "another"
				}
				if c.Name == "bmi.tcp.errors.\xff" {
					continue // package about lets no such name pass
				}
				s.Counts = append(s.Counts, c)
			}
			return s
		})
		require.InDelta(t, 7, value(t, got, "viaduct_method_sent_bytes_total", "method", "tcp"), 1e-9)
		require.InDelta(t, 2, value(t, got, "viaduct_peers", "method", "tcp", "state", "READY"), 1e-9)
	}
}

// TestBounded: ten thousand peers have as many series as one.
func TestBounded(t *testing.T) {
	count := func(peers int) (n int) {
		s := example()
		for range peers {
			s.Endpoints[0].Peers = append(s.Endpoints[0].Peers, s.Endpoints[0].Peers[0])
		}
		for _, f := range gather(t, func() *watch.Snapshot { return s }) {
			n += len(f.GetMetric())
		}
		return n
	}
	assert.Equal(t, count(1), count(10_000))
}
