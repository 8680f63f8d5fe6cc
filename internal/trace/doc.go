// Package trace writes what a program does, and when, in Chrome's trace event format, which Perfetto and Chrome display. The
// file is a JSON array with one event a line (docs/guides/tracing.md).
//
// A Trace takes events from Tracks. A Track is a ring of fixed size with one producer. Putting an event there costs two loads, a
// copy and a store, and never waits. A goroutine turns events into text and writes it. If a ring is full the event is dropped and
// counted, and the file says how many were.
//
// The file is a complete JSON array after each write, so a killed process leaves a file that can be read.
//
// Nothing is traced unless a program asks for it: whoever holds a *Trace or *Track checks it for nil.
//
// ring.go has the rings, encode.go the text, write.go the order of writes, create.go the rules for files, process.go the trace of
// the whole process. Package tracefile below reads, joins and summarises files.
package trace
