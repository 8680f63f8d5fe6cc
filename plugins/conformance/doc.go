// Package conformance holds no code: its tests load plugins as programs do, from
// binaries that are built for them, run the conformance suite over the methods that they
// carry, and kill them.
package conformance
