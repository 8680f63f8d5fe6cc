// Package pvfstest starts the servers of a file system inside a test, over a given method, on stores that are removed with the
// test. It also starts programs that do not outlive the test.
package pvfstest
