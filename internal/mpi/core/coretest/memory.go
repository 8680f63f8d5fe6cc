package coretest

import (
	"bytes"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A memory is the buffer of one message, in memory with known contents: the bytes around and
// between those of the message must not change.
type memory struct {
	buf    core.Buffer
	whole  []byte
	origin int
	stride int
	size   int
}

// guardBytes is the number of bytes before and behind the memory of a message; their value is
// guardByte.
const (
	guardBytes = 16
	guardByte  = 0xee
)

// newMemory makes memory for size bytes, contiguous or one every stride bytes.
func newMemory(size, stride int) *memory {
	m := &memory{origin: guardBytes, stride: max(stride, 1), size: size}
	m.whole = bytes.Repeat([]byte{guardByte}, size*m.stride+2*guardBytes)
	m.buf = core.Buffer{Mem: m.whole[guardBytes:][:size:size]}
	if stride > 0 {
		t, err := datatype.Vector(size, 1, stride, datatype.Byte)
		if err != nil {
			panic(fmt.Sprintf("coretest: %v", err))
		}
		m.buf = core.Buffer{Mem: m.whole, Origin: guardBytes, Type: t, Count: 1}
	}
	return m
}

// at returns the i-th byte of the message.
func (m *memory) at(i int) *byte { return &m.whole[m.origin+i*m.stride] }

func (m *memory) write(data []byte) {
	for i, b := range data {
		*m.at(i) = b
	}
}

// read returns the first n bytes, or an error if other memory was changed.
func (m *memory) read(n int) ([]byte, error) {
	data := make([]byte, n)
	for i := range data {
		data[i], *m.at(i) = *m.at(i), guardByte
	}
	for i, b := range m.whole {
		if b != guardByte {
			return data, fmt.Errorf("coretest: a receive of %d bytes touched byte %d beside them", n, i-m.origin)
		}
	}
	return data, nil
}

// spoil overwrites the message, whose memory belongs to the program again: if the engine still
// reads it, the message is wrong.
func (m *memory) spoil() {
	for i := range m.size {
		*m.at(i) = 0x55
	}
}
