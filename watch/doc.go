// Package watch lets a program be watched while it runs. A program imports it for its effect:
//
//	import _ "github.com/viaduct-hpc/viaduct/watch"
//
// If the environment variable VIADUCT_METRICS names a place, the program serves there by HTTP what it
// counts, in the format of Prometheus (/metrics) and as JSON (/snapshot):
//
//	:9100            the port, on all interfaces
//	HOST:9100        the port of one interface: localhost:9100
//	:9100-9199       the first free one of several ports, for several processes of one host
//	unix:/PATH       a socket that only the user can connect to
//	dir:/FOLDER      such a socket for each process, in a folder that belongs to the user with mode 0700
//
// The program listens as long as it has an endpoint (package bmi) open. docs/reference/metrics.md has the names of
// all metrics.
package watch
