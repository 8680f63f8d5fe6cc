//go:build !amd64

package move

// piece copies as many bytes as both have.
func piece(dst, src []byte) { copy(dst, src) }
