// Package race tells whether the race detector is enabled, which makes everything slow
// and allocates. Only tests and test helpers may behave differently because of it.
package race
