// Package server is the file server. It answers the requests of package proto from a store, for stock clients and for those of
// package client, together with the other servers of its file system.
//
// Every request takes the same path. First access.go checks its fields, its user and its capability. Then the table of operations
// (table.go) gives the method that carries it out. A method that answers with one message returns that message. A method that
// moves the bytes of a file sends the answer itself.
//
// A change is one transaction of the store, so it is made completely or not at all. An operation that needs several servers (the
// division or the removal of a directory) writes a record first, and is finished or undone at the next start.
//
// Locks are per object. They protect only against operations of several steps. Reads take no lock: they see the last committed
// state.
package server
