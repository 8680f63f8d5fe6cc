// Package vipltest is the conformance suite of the VI Architecture: what package
// vipl promises, checked over any NIC provider. Tests are named after the subjects
// of the VI Architecture Specification, version 1.0, and of the Developer's Guide.
//
// A test drives both ends from one goroutine, so that the same code runs over a
// simulated network and a real one.
package vipltest

import (
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A Setup is the network that one test runs on.
type Setup struct {
	// Provider opens the NICs.
	Provider nic.Provider
	// Name makes a name to listen on, unused by any other, for NIC number i of
	// the test.
	Name func(i int) string
	// Clock is handed to the NICs; nil on a real network.
	Clock func() time.Duration
	// Step lets something happen elsewhere. It reports false when nothing is
	// left that could. On a real network it gives the processor away.
	Step func() bool
	// Advance lets simulated time pass; nil on a real network, where it does
	// so by itself.
	Advance func(d time.Duration)
	// Seed decides what the tests leave to chance.
	Seed uint64
	// Crash ends the NIC of a name as the death of its process would; nil if
	// that cannot be done within one process.
	Crash func(name string)
	// Apart: the NICs share nothing and only exchange packets. They detect the crash of another NIC
	// by its silence, and have deadlines even when nothing is pending.
	Apart bool

	// Lingers: an accepted connection whose other end is gone takes seconds of real time to
	// fail. The suite waits for that without -short alone.
	Lingers bool
}

// A Test is one conformance test.
type Test struct {
	// Name starts with the subject of the specification.
	Name string
	Run  func(t *testing.T, s Setup)
}

// All is every conformance test.
func All() []Test {
	var all []Test
	for _, part := range [][]Test{nicTests, memoryTests, connectTests, peerTests, transferTests, rdmaTests, reliabilityTests, errorTests, queueTests} {
		all = append(all, part...)
	}
	return all
}

// Run runs All, each on a network of its own.
func Run(t *testing.T, setup func(t *testing.T) Setup) {
	t.Helper()
	for _, test := range All() {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, setup(t)) })
	}
}
