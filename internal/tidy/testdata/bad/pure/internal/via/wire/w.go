// Package wire is pure too.
package wire

import _ "net"
