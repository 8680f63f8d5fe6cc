// Command checks runs the tests of the module in the tiers that docs/testing.md describes:
// fast (make test), slow, which lists what takes longest (make slow), flake, which looks
// for tests that do not pass every time (make flake), and soak (make soak).
//
// It drives the go command and reads what test2json says. Which package runs how is in the
// table of docs/testing.md, which internal/tiers reads.
package main
