// Package server is the file server: it answers the requests of package proto from a store, for
// stock clients and for those of package client alike, together with the other servers of its
// file system.
//
// Every request goes the same way: what it is about, for whom it is and what its capability
// allows is checked first (access.go), then the table of operations (table.go) says which
// method carries it out. A method that answers with one message returns it; one that moves the
// bytes of a file answers by itself.
//
// A change is one transaction of the store, so that it happens wholly or not at all. What takes
// several servers (a directory that is divided, one that is removed) leaves a record first,
// and is finished or undone at the next start.
//
// Locks are per object and held only against operations that take several steps. Reads take
// none: they see the last state that was committed.
package server
