// Package matchbits imports nothing of ours.
package matchbits

import _ "github.com/viaduct-hpc/viaduct/internal/sim"
