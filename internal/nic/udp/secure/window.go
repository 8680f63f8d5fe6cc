package secure

// A window records which of the latest WindowPackets packets have arrived. As in
// RFC 6479 it is a ring of bits that is never shifted: the bit of a number is at
// the number modulo the ring's size, and moving forward clears the bits in
// between. The zero value has seen no packet.
type window struct {
	end  uint64 // 1 + the highest number that was committed
	bits [WindowPackets / 64]uint64
}

// If the ring's size were not a power of two, this length would be negative.
var _ [-(WindowPackets & (WindowPackets - 1))]struct{}

// check reports whether a number may be accepted.
func (w *window) check(number uint64) error {
	switch {
	case number >= w.end:
		return nil
	case w.end-number > WindowPackets:
		return ErrOld
	case w.bits[word(number)]&bit(number) != 0:
		return ErrReplayed
	}
	return nil
}

// commit records a number that check accepted, once its packet is known to be
// authentic.
func (w *window) commit(number uint64) {
	if number >= w.end {
		w.advance(number)
	}
	w.bits[word(number)] |= bit(number)
}

// advance makes number the highest one and clears the bits of skipped numbers.
func (w *window) advance(number uint64) {
	at := w.end
	if number-at >= WindowPackets {
		at = number - WindowPackets + 1
	}
	w.end = number + 1
	for at <= number {
		if at%64 == 0 && number-at >= 63 {
			w.bits[word(at)] = 0
			at += 64
			continue
		}
		w.bits[word(at)] &^= bit(at)
		at++
	}
}

func word(number uint64) uint64 { return number / 64 % (WindowPackets / 64) }
func bit(number uint64) uint64  { return 1 << (number % 64) }
