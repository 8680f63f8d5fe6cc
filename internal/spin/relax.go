//go:build amd64 || arm64

package spin

// Relax tells the core that its caller polls in vain, so that another thread of
// the same core, perhaps the awaited one, runs faster.
func Relax()
