// Package colltest is an in-memory coll.Comm for tests. The ranks of a World run
// one at a time, in an order that a seed decides, so failures can be repeated.
//
// A World is adversarial. Some sends return at once, and some only when they are
// received. Sent data is read as late as the contract of coll.Comm allows, and
// received data is stored as late. Some ranks hardly ever run while others can. Run
// returns an error for ranks that wait for one another for ever, messages that were
// not received, sends and receives without a Wait, and buffers that are in use
// twice.
package colltest
