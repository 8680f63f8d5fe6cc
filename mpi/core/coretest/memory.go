package coretest

import (
	"bytes"
	"fmt"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A memory is the buffer of one message, in memory that is known byte by byte: what lies
// around and between the bytes of the message must not change.
type memory struct {
	buf    core.Buffer
	whole  []byte
	origin int
	stride int
	size   int
}

// guardBytes lie before and behind the memory of a message; guardByte is what is in them.
const (
	guardBytes = 16
	guardByte  = 0xee
)

// newMemory makes memory for size bytes, one after the other, or one every stride bytes.
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

// at is the i-th byte of the message.
func (m *memory) at(i int) *byte { return &m.whole[m.origin+i*m.stride] }

func (m *memory) write(data []byte) {
	for i, b := range data {
		*m.at(i) = b
	}
}

// read takes the first n bytes out, and complains if anything else was touched.
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

// spoil overwrites the message, whose memory is the program's again: who still reads it
// sends nonsense.
func (m *memory) spoil() {
	for i := range m.size {
		*m.at(i) = 0x55
	}
}
