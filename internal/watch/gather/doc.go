// Package gather fetches snapshots of many processes at once: from addresses, Unix sockets, and folders of Unix sockets.
//
// target.go parses what the user names, folder.go lists a folder of sockets, fetch.go asks one process over HTTP, and gather.go asks
// all of them, with limits on time and size. Nothing that a process sends is believed: read.go decodes a snapshot and check.go
// limits and cleans it before others see it.
package gather
