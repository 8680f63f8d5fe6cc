// Package web serves what a process shows of itself (package internal/watch) by HTTP: where.go says
// where, listen.go and folder.go listen there, server.go is the server with its limits, and mount.go is
// where other packages add their paths. The process makes no difference between readers, so all paths
// only read.
package web
