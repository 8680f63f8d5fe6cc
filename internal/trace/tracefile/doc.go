// Package tracefile reads the files of package trace, joins those of a job, and summarises them. The files may come from other
// users: their contents are checked, and the memory for them is limited.
//
// event.go has the events, reader.go reads a file. match.go finds the two ends of messages, clocks.go the difference between
// the clocks of hosts, join.go writes one file from many. summary.go adds up.
package tracefile
