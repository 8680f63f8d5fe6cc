package secure

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// plain is the Session without keys: a checksum detects accidental damage, and
// the packet numbers detect duplicates.
type plain struct {
	base
}

// Room implements Session.
func (*plain) Room(head, body int) int {
	if body <= plainCopyBytes {
		head += body
	}
	return head + wire.SumLen
}

// Overhead implements Session.
func (*plain) Overhead() int { return wire.SumLen }

// Seal implements Session. A large body is not copied.
func (p *plain) Seal(vec [][]byte, head []byte, body [][]byte) ([][]byte, error) {
	if _, err := p.take(head); err != nil {
		return vec, err
	}
	size := 0
	for _, piece := range body {
		size += len(piece)
	}
	if size <= plainCopyBytes {
		for _, piece := range body {
			head = append(head, piece...)
		}
		return append(vec, wire.AppendSum(head, wire.Sum(0, head))), nil
	}
	sum := wire.Sum(0, head)
	for _, piece := range body {
		sum = wire.Sum(sum, piece)
	}
	whole := wire.AppendSum(head, sum)
	vec = append(append(vec, head), body...)
	return append(vec, whole[len(head):]), nil
}

// Open implements Session.
func (p *plain) Open(packet []byte) ([]byte, error) {
	number, err := p.check(packet, wire.SumLen)
	if err != nil {
		return nil, err
	}
	packet, err = wire.CheckSum(packet)
	if err != nil {
		p.stats.Forged++
		return nil, err
	}
	p.opened(number)
	return packet[wire.PacketLen:], nil
}
