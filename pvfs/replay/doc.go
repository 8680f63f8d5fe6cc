// Package replay plays captured sessions of stock OrangeFS programs against our own: Read takes
// a capture apart into bmi messages, Exchanges puts requests and what was said about each
// together, and a Player sends the captured client's requests to live servers and compares the
// answers with the captured ones, in every field that is not an identifier or a time. Identifiers
// of the capture are mapped to those of the live servers as they appear.
//
// The other way round, a Script plays the captured servers to a client of ours, and Pairs compares what the client
// asked with what the captured one had asked: in every field but times, credentials and hints.
//
// It is for tests. The captures themselves are not part of the module, except for a small cut
// in testdata. Their format is that of tcpdump, what is in it the wire format of methods/tcp.
package replay
