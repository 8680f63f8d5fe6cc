// Package replay plays captured sessions of stock OrangeFS programs to our own. Read parses a capture into bmi messages, and
// Exchanges joins requests with their answers and data. A Player sends the captured client's requests to live servers, and
// compares the answers with the captured ones in every field that is not an identifier or a time. Identifiers of the capture are
// mapped to those of the live servers as they appear.
//
// In the other direction, a Script plays the captured servers to a client of ours, and Pairs compares the requests of the two
// clients in every field except times, credentials and hints.
//
// It is for tests. The captures are not part of the module, except for a small part in testdata. They have the format of tcpdump,
// and contain the wire format of methods/tcp.
package replay
