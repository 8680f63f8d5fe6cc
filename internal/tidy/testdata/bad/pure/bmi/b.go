// Package bmi need not be pure.
package bmi

import _ "net"
