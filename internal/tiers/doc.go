// Package tiers reads the table of docs/internals/testing.md, which says how each package is
// tested: by the race step of .ci/run as well as in the fast tier (make test), and with
// which additions in the soak tier (make soak). tools/checks runs the tests as the
// table says, and internal/tidy checks that the table and the tree agree.
package tiers
