// Package grafana checks the dashboards of docs/reference/grafana: its test parses each of their queries as
// Prometheus does, and compares names and labels with those of docs/reference/metrics.md, which another test compares
// with the program. It is a module of its own, because the parser brings Prometheus.
package grafana
