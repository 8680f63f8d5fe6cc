//go:build race

package perf

// raceDetector: sync.Pool then forgets at random, and allocations say nothing.
const raceDetector = true
