// Package tcp is the BMI method that speaks PVFS2's own wire format over TCP, so
// that stock OrangeFS clients and servers are its peers. Importing it registers
// two methods: "tcp", with addresses tcp://HOST:PORT, and "tcps", the same inside
// TLS 1.3 between Viaduct endpoints.
//
// The format has no handshake, no credits and no classes of unexpected messages. This
// has three consequences:
//
//   - A peer that connected is known by the port that its kernel chose. It can be
//     answered, but not connected to.
//   - Flow control is that of TCP: a message that the receiver cannot take stops the
//     reading of its connection, and of no other.
//   - A send is complete when the kernel has taken its bytes.
//
// method.go polls. Incoming messages pass through arrive.go into package inbox (early.go
// has the limits), outgoing ones through send.go and outgoing.go. The life of a
// connection is in conn.go, dial.go and accept.go, that of a peer in remote.go. Package
// stack carries the bytes, and package wire defines their format.
package tcp
