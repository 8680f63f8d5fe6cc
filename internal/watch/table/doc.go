// Package table answers requests for a part of a process's peers: filtered, sorted, one page of them, with rates. A process with
// 10,000 peers then sends a few rows a second, and a viewer of many processes merges their first rows.
//
// query.go is what can be asked, and its form in a URL. filter.go parses filters, columns.go has what they and the order are about.
// rank.go builds the answer, and sampler.go limits how often a process takes a snapshot, however many viewers it has.
package table
