//go:build race

package bmi_test

// underRace: the race detector makes sync.Pool forget at random, so that
// allocations cannot be counted where it is used.
const underRace = true
