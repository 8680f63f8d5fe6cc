// Package tcp sees no other method.
package tcp

import _ "github.com/viaduct-hpc/viaduct/internal/via/wire"
