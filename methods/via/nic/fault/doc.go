// Package fault is a NIC provider that wraps any other and makes things go wrong:
// at moments that a script names, or with probabilities from a seed. Whatever it
// does stays within the contract of package nic, so that a consumer that cannot
// cope has a bug.
//
// It has no clock: what it delays, it delays by a number of polls. Losing packets,
// crashing whole devices and cutting networks is the simulated NIC's business
// (nic/sim); writing down what happens is nic/trace's.
package fault
