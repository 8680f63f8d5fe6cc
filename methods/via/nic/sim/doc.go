// Package simnic is a NIC provider in memory, over a simulated world
// (internal/sim): the in-memory twin of every other provider. It keeps the
// contract of package nic to the letter and otherwise does what software on top
// does not expect: completions come late and out of step with what the other side
// sees, memory is read and written at the last allowed moment, what is lent
// changes, connects are lost, links break, devices crash. What is left to chance comes from the world's seed.
//
// In the default mode time moves only when the test steps the world; the world
// and everything over it belong to one goroutine. In the Real mode, for tests
// with goroutines, virtual time follows the wall clock, devices can sleep, and
// different devices may have different owners.
//
// What lives elsewhere: links and the event queue (internal/sim), wrappers that
// trace or spoil another provider (nic/trace, nic/fault).
package simnic
