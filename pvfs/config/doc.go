// Package config reads and writes the configuration of a file system: the text
// that all its servers hold and that a client fetches, fs.conf by its usual name,
// and the lines of a pvfs2tab by which a client finds a server.
//
// [Parse] takes what stock servers and their pvfs2-genconfig write, and keeps the
// text as it is, because clients compare the texts of servers byte for byte.
//
// A server reads strictly: a misspelt ReadOnly must not leave a file system open to
// writers, so a keyword that OrangeFS does not have, or has elsewhere, is an error.
// keywords.go has the table of all keywords, with those of OrangeFS that have no
// effect here ([Config.Ignored]). A client, which enforces nothing, reads with
// [Options.Lenient]: servers may know more than it does.
//
// The way of a text: scan.go divides it into lines, outline.go into sections and
// finds the keywords in the table, value.go applies the values, parse.go has the
// entry points and checks the whole.
package config
