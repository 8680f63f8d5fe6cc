// Package term shows views (package view) in a terminal: peers, file servers, jobs and processes, as tables.
//
// grid.go lays a table out. peers.go, servers.go, jobs.go and processes.go say what is in each, and screen.go puts a screen together,
// as text for a given size. model.go reacts to keys and fetches a view each second, above the library that draws (decision 52), and
// run.go runs it. plain.go prints one table and ends, for files and pipes.
//
// Only commands link this package.
package term
