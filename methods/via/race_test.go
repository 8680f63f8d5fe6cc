//go:build race

package via_test

const raceEnabled = true
