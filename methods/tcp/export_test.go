package tcp

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/peer"
)

// LimitPeers makes a new method over a stack that supports sleeping know at most
// limit peers.
func LimitPeers(m bmi.Method, limit peer.ID) {
	m.(*sleeper).remotes = peer.NewIDs[*remote](limit, 0)
}
