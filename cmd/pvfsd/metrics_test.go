package main

import (
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
)

// scrape gets the metrics of a server as Prometheus does.
func scrape(t *testing.T, at string) map[string]*dto.MetricFamily {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get("http://" + at + "/metrics")
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	require.Equal(t, http.StatusOK, r.StatusCode)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(r.Body)
	require.NoError(t, err)
	return all
}

// noops is how many MGMT_NOOP the server has answered.
func noops(t *testing.T, at string) uint64 {
	for _, m := range scrape(t, at)["viaduct_pvfs_request_duration_seconds"].GetMetric() {
		if m.GetLabel()[0].GetValue() == "mgmt_noop" {
			return m.GetHistogram().GetSampleCount()
		}
	}
	return 0
}

// TestMetrics: a server is watched while it serves, also after SIGHUP, and logs slow requests.
func TestMetrics(t *testing.T) {
	folder, at := t.TempDir(), freeport.Address(t)
	conf, dir := filepath.Join(folder, "fs.conf"), filepath.Join(folder, "data")
	out, err := command(t, "genconfig", "-o", conf, "--insecure", "one=tcp://"+freeport.Address(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	d := serve(t, "--create", "--config", conf, "--dir", dir, "--metrics", at, "--slow-request", "1ns")
	before := noops(t, at)
	noop(t, d.addresses[0])
	d.waitFor(t, func() bool { return noops(t, at) > before }) // the answer may come before the request is counted
	all := scrape(t, at)
	assert.Contains(t, all, "viaduct_pvfs_space_free_bytes")
	assert.Contains(t, all, "viaduct_method_peers")
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	noop(t, d.addresses[0])
	assert.NotEmpty(t, scrape(t, at))
	assert.Equal(t, pvfsd.ExitOK, d.end(syscall.SIGTERM))
	_, err = http.Get("http://" + at + "/metrics")
	require.Error(t, err)
	assert.Contains(t, d.rest.String(), "a request took long")
	assert.Contains(t, d.rest.String(), "op=MGMT_NOOP")
}

// waitFor waits until a condition holds that will.
func (d *daemon) waitFor(t *testing.T, holds func() bool) {
	for !holds() {
		select {
		case <-d.ended:
			require.FailNow(t, "the server has ended", d.rest.String())
		default:
		}
	}
}

// TestNoMetrics: a place that cannot be used is a mistake in the command line.
func TestNoMetrics(t *testing.T) {
	folder := t.TempDir()
	conf, dir := filepath.Join(folder, "fs.conf"), filepath.Join(folder, "data")
	out, err := command(t, "genconfig", "-o", conf, "--insecure", "one=tcp://"+freeport.Address(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, where := range []string{"9100", "unix:here", "dir:" + conf} {
		out, err := command(t, "serve", "--create", "--config", conf, "--dir", dir, "--metrics", where).CombinedOutput()
		require.Error(t, err, where)
		assert.Contains(t, string(out), "--metrics: ", where)
	}
}
