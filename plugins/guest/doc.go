// Package guest runs a method for a program in another process: it is the Host that the
// method sees, takes what the program posts from one ring, and says in another how it
// ended and what arrived.
//
// One goroutine owns an Engine and calls Turn in a loop; a Loop does so, and sleeps. What
// the program says is checked like what a network says: a rule that is broken ends the
// Engine with an error and harms nobody else.
//
// engine.go is one turn, post.go what the program asks for, tell.go what it is told,
// peers.go the names of remote endpoints; loop.go is the Loop, loopsleep.go when it sleeps,
// looptask.go what others have it do. The records are those of plugins/wire, the
// rings those of plugins/ring. How a process becomes a plugin is not known here.
package guest
