// Package tcp is the BMI method that speaks PVFS2's own wire format over TCP, so
// that stock OrangeFS clients and servers are its peers. Importing it registers
// two methods: "tcp", with addresses tcp://HOST:PORT, and "tcps", the same inside
// TLS 1.3 between Viaduct endpoints.
//
// The format has no handshake, no credits and no classes of unexpected messages.
// What follows from that:
//
//   - A peer that connected is known by the port that its kernel chose. It can be
//     answered, but not connected to.
//   - Flow control is TCP's own: a message that nobody is ready to take stops the
//     reading of its connection, and of no other.
//   - A send is complete when the kernel has taken its bytes.
//
// Who reads on: method.go polls; recv.go, arrive.go and early.go are the way of a
// message in, send.go the way out; conn.go, dial.go and accept.go are the life of a
// connection, remote.go that of a peer. What carries the bytes is below (stack), what
// they look like in wire.
package tcp
