package datatype

import "encoding/binary"

// The kernels below copy the bytes. A run has length bytes, in units of unit bytes. Runs are stride
// bytes apart in memory, and gap bytes apart in the buffer.

// run moves a run at mem[at], packed at buf[pos]; for external32 it moves only whole units.
func (m *mover) run(length, unit, at, pos int) {
	switch m.op {
	case opPack:
		copy(m.buf[pos:pos+length], m.mem[at:])
	case opUnpack:
		copy(m.mem[at:at+length], m.buf[pos:])
	case opPackExternal:
		m.dropped = swap(m.buf[pos:pos+length], m.mem[at:at+length], unit)
	case opUnpackExternal:
		m.dropped = swap(m.mem[at:at+length], m.buf[pos:pos+length], unit)
	}
}

// part moves bytes skip to skip+k-1 of a run at mem[at]. They are packed at buf[pos].
func (m *mover) part(skip, k, unit, at, pos int) {
	if !m.cuts || unit <= 1 || m.op == opPack || m.op == opUnpack {
		m.run(k, unit, at+skip, pos)
		return
	}
	for k > 0 {
		in := skip % unit
		if in == 0 && k >= unit {
			whole := k - k%unit
			m.run(whole, unit, at+skip, pos)
			skip, k, pos = skip+whole, k-whole, pos+whole
			continue
		}
		for ; in < unit && k > 0; in++ {
			place := at + skip - skip%unit + externalByte(in, unit)
			if m.op == opPackExternal {
				m.buf[pos] = m.mem[place]
			} else {
				m.mem[place] = m.buf[pos]
			}
			skip, k, pos = skip+1, k-1, pos+1
		}
	}
}

// externalByte returns which byte of a unit in memory is byte i of it in external32.
func externalByte(i, unit int) int {
	if bigEndian {
		return i
	}
	return unit - 1 - i
}

// bigEndian tells whether memory has the byte order of external32.
var bigEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1<<8

// runs moves count runs, the first at mem[at] and buf[pos].
func (m *mover) runs(length, unit, at, stride, pos, gap, count int) {
	switch m.op {
	case opPack:
		copyRuns(m.buf, pos, gap, m.mem, at, stride, length, count)
	case opUnpack:
		copyRuns(m.mem, at, stride, m.buf, pos, gap, length, count)
	case opPackExternal:
		swapRuns(m.buf, pos, gap, m.mem, at, stride, length, unit, count)
	case opUnpackExternal:
		swapRuns(m.mem, at, stride, m.buf, pos, gap, length, unit, count)
	}
}

// blocks moves blocks first to end-1 of a node placed at mem[at]; block first is packed at
// buf[pos].
func (m *mover) blocks(n *node, first, end, at, pos int) {
	offs, ends, from := n.offs[first:end], n.ends[first:end], 0
	if first > 0 {
		from = n.ends[first-1]
	}
	pos -= from
	switch m.op {
	case opPack:
		mem, buf := m.mem, m.buf
		for i, off := range offs {
			copyBlock(buf, pos+from, mem, at+off, ends[i]-from)
			from = ends[i]
		}
	case opUnpack:
		mem, buf := m.mem, m.buf
		for i, off := range offs {
			copyBlock(mem, at+off, buf, pos+from, ends[i]-from)
			from = ends[i]
		}
	default:
		for i, off := range offs {
			m.run(ends[i]-from, int(n.grain.unit), at+off, pos+from)
			from = ends[i]
		}
	}
}

// copyBlock copies a block; a block of the size of a scalar goes through a register.
func copyBlock(dst []byte, d int, src []byte, s, length int) {
	switch length {
	case 4:
		copy4(dst, d, src, s)
	case 8:
		copy8(dst, d, src, s)
	default:
		copy(dst[d:d+length], src[s:])
	}
}

// copyRuns copies count runs from src[s] to dst[d], where they are ss and ds bytes apart. Scalars,
// and pairs of them, go through a register.
func copyRuns(dst []byte, d, ds int, src []byte, s, ss, length, count int) {
	switch length {
	case 1:
		for range count {
			dst[d] = src[s]
			d, s = d+ds, s+ss
		}
	case 2:
		for range count {
			binary.NativeEndian.PutUint16(dst[d:], binary.NativeEndian.Uint16(src[s:]))
			d, s = d+ds, s+ss
		}
	case 4:
		for range count {
			copy4(dst, d, src, s)
			d, s = d+ds, s+ss
		}
	case 8:
		for range count {
			copy8(dst, d, src, s)
			d, s = d+ds, s+ss
		}
	case 12:
		for range count {
			copy8(dst, d, src, s)
			copy4(dst, d+8, src, s+8)
			d, s = d+ds, s+ss
		}
	case 16:
		for range count {
			copy8(dst, d, src, s)
			copy8(dst, d+8, src, s+8)
			d, s = d+ds, s+ss
		}
	default:
		for range count {
			copy(dst[d:d+length], src[s:])
			d, s = d+ds, s+ss
		}
	}
}

func copy4(dst []byte, d int, src []byte, s int) {
	binary.NativeEndian.PutUint32(dst[d:], binary.NativeEndian.Uint32(src[s:]))
}

func copy8(dst []byte, d int, src []byte, s int) {
	binary.NativeEndian.PutUint64(dst[d:], binary.NativeEndian.Uint64(src[s:]))
}

// swap copies whole units and converts them between the machine's byte order and big-endian, which
// is the same operation both ways. It returns how many bytes of a unit were left over. dst and src
// have the same length.
func swap(dst, src []byte, unit int) (left int) {
	left = len(src) % unit
	n := len(src) - left
	dst, src = dst[:n], src[:n]
	switch unit {
	case 2:
		for i := 0; i+2 <= len(src); i += 2 {
			binary.BigEndian.PutUint16(dst[i:], binary.NativeEndian.Uint16(src[i:]))
		}
	case 4:
		for i := 0; i+4 <= len(src); i += 4 {
			binary.BigEndian.PutUint32(dst[i:], binary.NativeEndian.Uint32(src[i:]))
		}
	case 8:
		for i := 0; i+8 <= len(src); i += 8 {
			binary.BigEndian.PutUint64(dst[i:], binary.NativeEndian.Uint64(src[i:]))
		}
	case 16:
		for i := 0; i+16 <= len(src); i += 16 {
			lo, hi := binary.NativeEndian.Uint64(src[i:]), binary.NativeEndian.Uint64(src[i+8:])
			if bigEndian {
				lo, hi = hi, lo
			}
			binary.BigEndian.PutUint64(dst[i:], hi)
			binary.BigEndian.PutUint64(dst[i+8:], lo)
		}
	default:
		copy(dst, src)
	}
	return left
}

// swapRuns is copyRuns with byte swapping.
func swapRuns(dst []byte, d, ds int, src []byte, s, ss, length, unit, count int) {
	switch {
	case unit == 1:
		copyRuns(dst, d, ds, src, s, ss, length, count)
	case unit == 4 && length == 4:
		for range count {
			binary.BigEndian.PutUint32(dst[d:], binary.NativeEndian.Uint32(src[s:]))
			d, s = d+ds, s+ss
		}
	case unit == 8 && length == 8:
		for range count {
			binary.BigEndian.PutUint64(dst[d:], binary.NativeEndian.Uint64(src[s:]))
			d, s = d+ds, s+ss
		}
	default:
		for range count {
			swap(dst[d:d+length], src[s:s+length], unit)
			d, s = d+ds, s+ss
		}
	}
}
