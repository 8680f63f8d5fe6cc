// Package conformance has only tests. They build plugin binaries, load them as programs do, run the
// conformance suite over their methods, and kill them.
package conformance
