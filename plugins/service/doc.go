// Package service is what a plugin serves: the control service of plugins/proto, with one
// session for each method that the program opened.
//
// A session is a method of bmi behind a guest.Loop, with the memory and the bells that the
// program passed for it, or private ones when its records come by a stream (package stream).
// What one session's program does wrong ends that session; the others go on.
//
// server.go is the service and the table of sessions, open.go how a session begins,
// session.go how it ends, memory.go what it shares with the program, control.go what is
// asked of its method, data.go its stream, convert.go how answers are written. How the
// process is started and served is in package process, the records are in package guest.
package service
