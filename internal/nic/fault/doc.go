// Package fault is a NIC provider that wraps any other and injects faults: at
// moments that a script names, or with probabilities from a seed. Every fault
// stays within the contract of package nic, so a consumer that cannot handle it
// has a bug.
//
// It has no clock: delays are numbers of polls. Losing packets, crashing whole
// devices and cutting networks belongs to the simulated NIC (nic/sim), and
// recording events to nic/trace.
package fault
