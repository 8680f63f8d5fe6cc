// Package service is the server in a plugin: the control service of plugins/proto, with one session
// for each method that the program has opened.
//
// A session is a method of bmi behind a guest.Loop. It has the memory and the bells that the
// program passed for it, or private ones if its records come over a stream (package stream). An
// error of one session's program ends that session; the others go on.
//
// server.go is the service and the table of sessions, open.go the beginning of a session,
// session.go its end, memory.go the memory shared with the program, control.go the calls to its
// method, data.go its stream, and convert.go the form of answers. Package process starts and serves
// the process; package guest handles the records.
package service
