//go:build linux

// Package process starts a plugin's process, talks to it and ends it: both sides of that,
// Start in the program and Serve in the plugin. The handshake, mutual TLS and the checksum
// are those of github.com/hashicorp/go-plugin; what a plugin in another language has to do
// is in docs/plugin-protocol.md.
//
// A program and a plugin are joined by three things. A gRPC connection over a Unix socket
// in a private folder, which is removed once the connection is up, so that nothing is left
// of it whoever dies. A socket pair, descriptor 3 of the plugin, over which descriptors
// of shared memory are passed; its end is the end of the program. And the plugin's output,
// which becomes records in the program's log.
//
// What is asked over the connection is package service's business, when a plugin is
// started again package plugins', whether a file may be started at all package trust's.
//
// Whatever a plugin prints or answers is not to be trusted: go-plugin itself would panic at
// some of it (a JSON log line whose message is a number, a certificate nobody asked for)
// and keep some for ever (its broker), so it is given nothing but a handshake line that was
// checked here.
package process
