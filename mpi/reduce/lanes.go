package reduce

// Integers of one and two bytes are added eight and four at a time, as lanes of a
// word. The highest bit of every lane is left out of the sum, so that nothing is
// carried into the lane above, and is then added without a carry. The sign makes no
// difference.

func sumLanes8(inout, in []uint64)  { sumLanes(inout, in, 0x8080808080808080) }
func sumLanes16(inout, in []uint64) { sumLanes(inout, in, 0x8000800080008000) }

// sumLanes adds lanes whose highest bits are top.
func sumLanes(inout, in []uint64, top uint64) {
	in = in[:len(inout)]
	for i, a := range inout {
		b := in[i]
		inout[i] = (a&^top + b&^top) ^ (a^b)&top
	}
}

// inWords makes a loop over elements of size bytes. It runs words over whole words,
// and rest over the bytes or elements that remain.
func inWords(size int, words func(inout, in []uint64), rest loop, restSize int) loop {
	w := each(words)
	return func(inout, in []byte, n int) {
		bytes := n * size
		whole := bytes &^ 7
		w(inout, in, whole/8)
		rest(inout[whole:bytes], in[whole:bytes], (bytes-whole)/restSize)
	}
}
