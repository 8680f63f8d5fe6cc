// Package pvfstest starts the servers of a file system within a test, over the method it is given,
// on stores that go away with it, and programs that do not outlive it.
package pvfstest
