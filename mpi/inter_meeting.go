package mpi

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// The leaders' message when two groups meet: the proposed key, and the cards of all processes of
// the group in rank order, separated by blanks.
const (
	keyBytes = 2 + 4 + 16
	// meetingBytesMax limits the other leader's message: cards of 64 Ki processes.
	meetingBytesMax = 64 << 20
)

func appendKey(b []byte, key agreementKey) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(key.parent))
	b = binary.LittleEndian.AppendUint32(b, uint32(key.tag))
	return append(b, key.leader[:]...)
}

// parseKey reads the keyBytes that appendKey wrote.
func parseKey(b []byte) agreementKey {
	return agreementKey{
		parent: core.ContextID(binary.LittleEndian.Uint16(b)),
		tag:    int(binary.LittleEndian.Uint32(b[2:])),
		leader: core.ProcID(b[6:keyBytes]),
	}
}

func appendMeeting(b []byte, key agreementKey, g *Group) ([]byte, error) {
	b = appendKey(b, key)
	for rank, p := range g.All() {
		if rank > 0 {
			b = append(b, ' ')
		}
		card, err := p.WholeCard()
		if err != nil {
			return nil, err
		}
		b = append(b, card.Encode()...)
	}
	return b, nil
}

// parseMeeting reads the other leader's message: its key, and the cards of its group.
func parseMeeting(b []byte) (agreementKey, []core.Card, error) {
	if len(b) <= keyBytes {
		return agreementKey{}, nil, errclass.New(errclass.Other, "the other leader sent %d bytes, too few to name its group", len(b))
	}
	if n := bytes.Count(b[keyBytes:], []byte{' '}) + 1; n > core.SizeMax {
		return agreementKey{}, nil, errclass.New(errclass.Other, "the other group has %d processes, at most %d have ranks", n, core.SizeMax)
	}
	var cards []core.Card
	for text := range strings.SplitSeq(string(b[keyBytes:]), " ") {
		card, err := core.ParseCard(text)
		if err != nil {
			return agreementKey{}, nil, errclass.Wrap(errclass.Other, err, "the card of rank %d of the other group", len(cards))
		}
		cards = append(cards, card)
	}
	return parseKey(b), cards, nil
}

// readMeeting is parseMeeting that also makes the other group, which must have no process in common
// with this one.
func (c *Comm) readMeeting(b []byte) (agreementKey, *Group, error) {
	key, cards, err := parseMeeting(b)
	if err != nil {
		return key, nil, err
	}
	procs := make([]*core.Proc, len(cards))
	for i, card := range cards {
		if procs[i], err = c.p.engine.Proc(card); err != nil {
			return key, nil, err
		}
	}
	remote, err := group.New(procs)
	if err != nil {
		return key, nil, err
	}
	both, err := group.Intersection(c.group, remote)
	if err == nil && both.Size() > 0 {
		err = errclass.New(errclass.Comm, "%d processes are in both groups: an inter-communicator has each in one", both.Size())
	}
	return key, remote, err
}
