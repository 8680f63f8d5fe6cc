// Package sim is a small world in which time and randomness come from one seed:
// an event queue in virtual time, links that lose, delay, duplicate, reorder and
// corrupt, bottlenecks with a queue, partitions, and checkers for invariants.
//
// Nothing here knows NICs, peers or messages; the simulated NIC over a World is
// in internal/nic/sim. A World has no goroutine and no lock: it belongs to one
// goroutine at a time. Replaying a seed replays the run, as long as the code
// under test takes its time and randomness from the World.
package sim
