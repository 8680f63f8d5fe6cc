// Package tiers reads the table of docs/internals/testing.md, which says how each package is
// tested: in the fast tier (make test) with the race detector or without, and with
// which additions in the soak tier (make soak). tools/checks runs the tests as the
// table says, and internal/tidy checks that the table and the tree agree.
package tiers
