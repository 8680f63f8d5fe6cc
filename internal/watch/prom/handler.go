package prom

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/web"
)

// Limits of scrapes.
const (
	scrapesMax    = 4 // at once
	scrapeTimeMax = 10 * time.Second
)

func init() { web.Handle("/metrics", handler()) }

func handler() http.Handler {
	return promhttp.HandlerFor(Registry(watch.Recent), promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapesMax, Timeout: scrapeTimeMax,
	})
}

// Registry returns all metrics of snapshots, of the process, and of Go's runtime.
func Registry(take func() *watch.Snapshot) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{take}, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	return r
}

// A collector makes the metrics of a snapshot.
type collector struct{ take func() *watch.Snapshot }

// Describe implements prometheus.Collector. What there is depends on what is open, so it describes
// nothing: the collector is an unchecked one.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	s := c.take()
	addFamilies(to, s)
	addCounts(to, s)
}
