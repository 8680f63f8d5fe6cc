//go:build race

package methodtest_test

const raceEnabled = true
