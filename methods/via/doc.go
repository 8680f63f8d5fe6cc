// Package via is the VIA method: BMI messages over the VI Architecture.
//
// It is a front, and joins the rooms that have a protocol: ops has the operations,
// peers the peers and their connections; internal/via/link carries packets over any NIC
// provider below methods/via/nic; internal/via/wire defines them; peer is the state of a
// connection, internal/via/bulk that of a large message; internal/inbox holds receives and
// what waits for them. Here is what only a method as a whole has:
//
//	register         the methods of every program that imports the package
//	driver, options  opening
//	key, users       what providers are told of keys and users
//	method           Info, memory
//	close, sleep     Close; sleeping
//
// Each file uses only those below it, or beside it. docs/internals/protocols/via.md describes the
// protocol, docs/internals/ownership.md who owns which memory when.
package via
