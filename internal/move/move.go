// Package move copies large memory that another processor is about to read.
//
// Go's copy bypasses the caches from 1 MiB on, because nobody reads so much at once again. Between
// processes somebody does. On amd64 Copy uses the string instruction of the processor, where that is
// fast; elsewhere it copies in pieces that stay in the caches.
package move

// largeMin is the length, in bytes, from which Copy does anything else than copy.
const largeMin = 64 << 10

// pieceBytes is the length of a piece. A goroutine cannot be stopped within one.
const pieceBytes = 256 << 10

// Copy copies src to dst, which do not overlap, and returns the number of bytes, as copy does.
func Copy(dst, src []byte) int {
	n := min(len(dst), len(src))
	if n < largeMin {
		return copy(dst, src)
	}
	for at := 0; at < n; at += pieceBytes {
		end := min(at+pieceBytes, n)
		piece(dst[at:end], src[at:end])
	}
	return n
}
