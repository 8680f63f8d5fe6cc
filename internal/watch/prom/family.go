package prom

import (
	"github.com/prometheus/client_golang/prometheus"
)

// A family is a metric with its labels.
type family struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	seen       map[string]bool // values of labels that were sent; nil: the caller sends each once
}

// all are the families of families.go, and reserved their names, which no count can have.
var (
	all      []*family
	reserved = map[string]bool{}
)

func gauge(name, help string, labels ...string) *family {
	return define(name, help, prometheus.GaugeValue, labels)
}

func counter(name, help string, labels ...string) *family {
	return define(name, help, prometheus.CounterValue, labels)
}

func define(name, help string, kind prometheus.ValueType, labels []string) *family {
	f := &family{name: Prefix + name, help: help, kind: kind, labels: labels}
	all, reserved[f.name] = append(all, f), true
	return f
}

func (f *family) desc() *prometheus.Desc { return prometheus.NewDesc(f.name, f.help, f.labels, nil) }

// send sends a value. Values of labels that are no UTF-8 are sent as an error, by which the other metrics
// are not affected.
func (f *family) send(to chan<- prometheus.Metric, value float64, labels ...string) {
	m, err := prometheus.NewConstMetric(f.desc(), f.kind, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(f.desc(), err)
	}
	to <- m
}
