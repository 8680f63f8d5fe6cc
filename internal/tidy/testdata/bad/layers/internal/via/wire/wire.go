// Package wire knows match bits, not peers.
package wire

import (
	_ "github.com/viaduct-hpc/viaduct/matchbits"
	_ "github.com/viaduct-hpc/viaduct/peer"
)
