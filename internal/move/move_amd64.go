package move

import "golang.org/x/sys/cpu"

var fast = cpu.X86.HasERMS

// piece copies as many bytes as both have, which are some.
func piece(dst, src []byte) {
	if fast {
		repMovsb(&dst[0], &src[0], uintptr(len(dst)))
		return
	}
	copy(dst, src)
}

// repMovsb copies n bytes upwards.
//
//go:noescape
func repMovsb(dst, src *byte, n uintptr)
