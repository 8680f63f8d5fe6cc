// Package plugins runs BMI methods in other processes. A program loads a plugin binary (Load), and
// the methods that it offers are methods like any other, but a crash in one harms no other part of
// the program. Serve is all that a plugin binary needs besides its method.
//
// trust checks files, process starts and ends the other process, service runs in it, host is the
// method that the program sees, and guest runs the real one. ring, wire, arena, segment and bell
// are shared by both sides; stream replaces shared memory for plugins without it.
// docs/internals/protocols/plugins.md describes the protocol between the processes.
//
// In this package, load.go and unload.go register and unregister the methods of a Plugin
// (plugin.go), loader.go does so for bmi.Open, and discover.go searches folders. One goroutine for
// each plugin, in supervise.go, supervises its process (incarnation.go): it tells the sessions when
// the process dies, and opens them in the next one. session.go is a session, the method of one
// endpoint, and close.go closes it. control.go has its calls to the plugin other than messages,
// mailbox.go its state shared with the supervisor, attachment.go the memory shared with one
// process. options.go, names.go and info.go check the input of the user and of the plugin.
package plugins
