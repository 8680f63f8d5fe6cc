// Package prom turns snapshots (package internal/watch) into Prometheus' metrics, under /metrics of
// package internal/watch/web. Snapshots are taken when Prometheus asks: nothing is counted twice, and
// nothing happens in between.
//
// families.go has the metrics of endpoints, servers and jobs; names.go names those of package bmi/about's
// counts. The number of time series is bounded: peers are summed up by method and state.
package prom
