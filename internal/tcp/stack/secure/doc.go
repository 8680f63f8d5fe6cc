// Package secure puts TLS 1.3 between the TCP method and its byte streams: it is
// a stack.Stack over another one, used for tcps:// addresses.
//
// Both sides prove their identity, either with certificates of a private CA or
// with a shared key (see Files). Everything else about TLS is fixed: version 1.3,
// no resumption, one application protocol. docs/reference/security-tcps.md says what this
// protects against and what not, and how to make the files.
//
// crypto/tls talks to a conduit, a net.Conn in memory. The handshake runs in its
// own goroutine, which waits in the conduit for bytes that the owner's Poll
// brings. After the handshake the goroutine ends and only the owner calls
// crypto/tls, whose reads may be tried again after a time-out error. So nothing
// here ever blocks the owner.
//
// Sockets are in stack/kernel, and the meaning of the bytes is in methods/tcp.
package secure
