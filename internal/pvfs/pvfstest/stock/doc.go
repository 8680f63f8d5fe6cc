// Package stock runs OrangeFS's own programs inside a test: file servers on free ports of the loopback interface, whose storage
// is removed with the test, and the other programs of an installation. It needs an installation, see docs/guides/orangefs.md, and skips
// tests without one.
package stock
