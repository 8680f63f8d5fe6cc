// Package watchtest has processes that do not exist: snapshots of a client with any number of peers, a file server, a job with a
// deadlock, and a process that names itself and its peers to do harm. Tests of views use them, and the pictures in docs/guides/watching.md
// are of them.
package watchtest
