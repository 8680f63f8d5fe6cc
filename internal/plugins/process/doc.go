//go:build linux

// Package process starts a plugin's process, talks to it and ends it. It has both sides: Start in
// the program and Serve in the plugin. The handshake, mutual TLS and the checksum are those of
// github.com/hashicorp/go-plugin. docs/internals/protocols/plugins.md says what a plugin in another language
// has to do.
//
// Three things connect a program and a plugin. A gRPC connection over a Unix socket in a private
// folder, which is removed once the connection is up, so that nothing is left of it if a process
// dies. A socket pair, descriptor 3 of the plugin, over which descriptors of shared memory are
// passed; if it is closed, the program has ended. And the plugin's output, which becomes records in
// the program's log.
//
// Package service defines the calls over the connection, package plugins decides when a plugin is
// started again, and package trust whether a file may be started at all.
//
// The output and the answers of a plugin are not trusted. go-plugin itself would panic on some of
// them (a JSON log line whose message is a number, an unrequested certificate) and keep some for
// ever (in its broker), so go-plugin gets only a handshake line that was checked here.
package process
