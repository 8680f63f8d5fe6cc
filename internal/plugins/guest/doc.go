// Package guest runs a method for a program in another process. It is the method's Host: it reads
// the program's operations from one ring, and writes into another how they ended and which messages
// arrived.
//
// One goroutine owns an Engine and calls Turn in a loop. A Loop does that, and sleeps when idle.
// The program's records are checked like data from a network: one that breaks the rules ends the
// Engine with an error and harms nothing else.
//
// engine.go is one turn, post.go handles the program's records, report.go writes records to it, and
// peers.go has the ids of remote endpoints. loop.go is the Loop, loopsleep.go its sleep,
// looptask.go its tasks. internal/plugins/wire defines the records, internal/plugins/ring the rings. The package does
// not know how a process becomes a plugin.
package guest
