// Package colltest is a coll.Comm in memory, for tests: a World of ranks that
// run one at a time, in an order that a seed decides, and that therefore fail
// the same way every time.
//
// A World is an unkind one. Some of its sends return at once and some only when
// they were received; what is sent is looked at as late as the contract of
// coll.Comm allows, and what is received is stored no earlier; some ranks hardly
// ever run while others can. It notices, and reports as an error of Run, ranks
// that wait for one another for ever, messages that nobody received, sends and
// receives that nobody waited for, and buffers that are in use twice.
package colltest
