package nic

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// silent is a device that counts nothing, counting one that does.
type (
	silent   struct{ Device }
	counting struct{ Device }
)

func (counting) LinkStats() LinkStats     { return LinkStats{Retransmitted: 3} }
func (counting) PacketStats() PacketStats { return PacketStats{Overflowed: 4} }

func TestStatsOfWhoCountsAndWhoDoesNot(t *testing.T) {
	assert.Equal(t, LinkStats{Retransmitted: 3}, LinkStatsOf(counting{}))
	assert.Equal(t, PacketStats{Overflowed: 4}, PacketStatsOf(counting{}))
	assert.Zero(t, LinkStatsOf(silent{}))
	assert.Zero(t, LinkStatsOf(nil))
	assert.Zero(t, PacketStatsOf(silent{}))
}
