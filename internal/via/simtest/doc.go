// Package simtest holds no code: its tests run the method over simulated NICs and networks, in
// virtual time and on one goroutine. There is nothing in that for the race detector to find, and
// it would take five times as long, so that the fast tier runs them without it (docs/internals/testing.md).
package simtest
