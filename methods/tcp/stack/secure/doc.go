// Package secure puts TLS 1.3 between the TCP method and its byte streams: a
// stack.Stack over another one. It is what a tcps:// address is made of.
//
// Both sides prove who they are, either with certificates of a private CA or
// with a key that they share (Files says from which files). Everything else
// about TLS is fixed: version 1.3, no resumption, one application protocol.
// docs/security-tcps.md says what that protects from and what not, and how to
// make the files.
//
// How it works: crypto/tls talks to a conduit, a net.Conn in memory. The
// handshake runs in a goroutine of its own, which waits in the conduit for bytes
// that the owner's Poll brings; once it is over, the goroutine is gone and the
// owner alone calls crypto/tls, whose reads may be tried again after a time-out
// error. So nothing here ever blocks the owner.
//
// What does not live here: sockets (stack/kernel), and what the bytes mean
// (methods/tcp).
package secure
