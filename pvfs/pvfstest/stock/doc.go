// Package stock runs OrangeFS's own programs within a test: file servers on free ports of the loopback
// interface, with storage that goes away with the test, and what else an installation holds. It
// needs an installation, which docs/orangefs.md describes, and skips tests without one.
package stock
