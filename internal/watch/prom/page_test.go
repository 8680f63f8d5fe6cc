package prom

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// world runs fn in a process that has everything: an MPI process, a file server with a client, and an
// endpoint with each method.
func world(t *testing.T, fn func()) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	mpitest.Run(t, 1, mpitest.Options{Method: "via+shm,via+udp,tcp"}, func(t *testing.T, p *mpi.Process) {
		c := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP, Servers: 1})
		fs, err := client.Mount(context.Background(), c.Source(), client.Options{Endpoint: c.Endpoint()})
		require.NoError(t, err)
		defer func() { require.NoError(t, fs.Close()) }()
		_, err = fs.Stat(".")
		require.NoError(t, err)
		fn()
	})
}

// gather gets the metrics as Prometheus does: by HTTP, as text that its parser reads.
func gather(t *testing.T, take func() *watch.Snapshot) map[string]*dto.MetricFamily {
	w := httptest.NewRecorder()
	h := promhttp.HandlerFor(Registry(take), promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(w.Body)
	require.NoError(t, err)
	return found
}

const pageMark = "## All metrics\n"

// TestPage: docs/reference/metrics.md lists all metrics, and their names follow Prometheus' conventions.
func TestPage(t *testing.T) {
	const page = "../../../docs/reference/metrics.md"
	world(t, func() {
		found := gather(t, watch.Take)
		problems, err := promlint.NewWithMetricFamilies(slices.Collect(maps.Values(found))).Lint()
		require.NoError(t, err)
		assert.Empty(t, problems)
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		by, _, ok := strings.Cut(string(text), pageMark)
		require.True(t, ok, "%s has no line %q", page, pageMark)
		golden.Check(t, page, append([]byte(by), table(t, found)...))
	})
}

// table lists metrics: a row for each meaning, with the names that share it. The page says how a name shows its type.
func table(t *testing.T, found map[string]*dto.MetricFamily) []byte {
	type row struct{ labels, kind, help string }
	rows := map[string]row{}
	kinds := map[prometheus.ValueType]string{prometheus.GaugeValue: "gauge", prometheus.CounterValue: "counter"}
	for _, f := range all {
		rows[f.name] = row{strings.Join(f.labels, ","), kinds[f.kind], f.help}
	}
	for name, f := range found {
		if !strings.HasPrefix(name, Prefix) {
			continue // metrics of every Go program
		}
		r := row{kind: strings.ToLower(f.GetType().String()), help: f.GetHelp()}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		if r.labels = strings.Join(labels, ","); rows[name].help != "" {
			r.labels = rows[name].labels
		}
		rows[name] = r
	}
	names, first := map[row][]string{}, map[row]string{}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		r := rows[name]
		assert.Equal(t, r.kind == "counter", strings.HasSuffix(name, "_total"), name)
		if names[r] == nil {
			first[r] = name
		}
		if r.labels != "" {
			name += "{" + r.labels + "}"
		}
		names[r] = append(names[r], "`"+name+"`")
	}
	var out bytes.Buffer
	fmt.Fprint(&out, pageMark, "\n| name | meaning |\n| --- | --- |\n")
	for _, r := range slices.SortedFunc(maps.Keys(names), func(a, b row) int { return cmp.Compare(first[a], first[b]) }) {
		help := r.help
		if r.kind == "histogram" {
			help += " (histogram)"
		}
		fmt.Fprintf(&out, "| %s | %s |\n", strings.Join(names[r], ", "), help)
	}
	return out.Bytes()
}
