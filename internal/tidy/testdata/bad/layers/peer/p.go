// Package peer imports nothing of ours.
package peer

import _ "github.com/viaduct-hpc/viaduct/matchbits"
