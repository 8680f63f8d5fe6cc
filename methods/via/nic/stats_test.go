package nic

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
)

// silent is a device that counts nothing, counting one that does.
type (
	silent   struct{ Device }
	counting struct{ Device }
)

func (counting) LinkStats() netstats.Link      { return netstats.Link{Retransmitted: 3} }
func (counting) PacketStats() netstats.Packets { return netstats.Packets{Overflowed: 4} }

func TestStatsOfWhoCountsAndWhoDoesNot(t *testing.T) {
	assert.Equal(t, netstats.Link{Retransmitted: 3}, LinkStatsOf(counting{}))
	assert.Equal(t, netstats.Packets{Overflowed: 4}, PacketStatsOf(counting{}))
	assert.Zero(t, LinkStatsOf(silent{}))
	assert.Zero(t, LinkStatsOf(nil))
	assert.Zero(t, PacketStatsOf(silent{}))
}
