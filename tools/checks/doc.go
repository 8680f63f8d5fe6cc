// Command checks runs the tests of the module in the tiers of docs/internals/testing.md: fast (make
// test), slow, which lists the slowest tests (make slow), flake, which looks for tests
// that do not pass every time (make flake), and soak (make soak). `checks references` lists
// the references between files of a package that point up (internal/references), `checks vulns`
// looks for known vulnerabilities, `checks api` compares exported names with those in api/, and
// `checks words` counts the words of the documentation.
//
// It runs the go command and reads the output of test2json. The table of docs/internals/testing.md,
// which internal/tiers reads, says how each package is tested.
package main
