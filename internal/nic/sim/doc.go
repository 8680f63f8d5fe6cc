// Package simnic is a NIC provider in memory, over a simulated world (internal/sim): the in-memory twin of
// every other provider. It keeps the contract of package nic exactly, and otherwise does what its user does
// not expect: completions come late and in a different order than on the other side, memory is read and
// written at the last allowed moment, lent memory changes, connects are lost, links break, devices crash. All
// randomness comes from the world's seed.
//
// In the default mode time moves only when the test steps the world; the world and everything over it belong
// to one goroutine. In the Real mode, for tests with goroutines, virtual time follows the wall clock, devices
// can sleep, and different devices may have different owners.
//
// Links and the event queue are in internal/sim, wrappers that trace or inject faults into another provider
// in nic/trace and nic/fault.
package simnic
