//go:build !race

package race

// Enabled: the race detector watches.
const Enabled = false
