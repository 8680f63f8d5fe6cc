// Package plugins runs BMI methods in other processes: a program loads a plugin binary
// (Load), and the methods that it offers are methods like any other, though a crash in one
// harms nobody else. Serve is the whole of a plugin binary beside its method.
//
// What happens where: trust judges files, process starts and ends the other process,
// service is what runs in it, host is the method that the program sees, guest runs the real
// one; ring, wire, arena, segment and bell are what they share; stream takes their place
// for plugins without shared memory. docs/plugin-protocol.md describes all that crosses the
// border.
//
// In this package, load.go and unload.go register the methods of a Plugin (plugin.go) and
// take them back, loader.go does so for bmi.Open, discover.go looks into folders. One
// goroutine for each plugin, in supervise.go, looks after its process (incarnation.go):
// it tells the sessions of a death and opens them in the next process. session.go is a
// session, the method of one endpoint, which close.go ends; control.go is what it asks the
// plugin besides messages, mailbox.go what it hears from the supervisor, attachment.go the
// memory that it shares with one process. options.go, names.go and info.go check what the
// user and the plugin say.
package plugins
