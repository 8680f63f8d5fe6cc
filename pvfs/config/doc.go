// Package config reads and writes the configuration of a file system: the text
// that all its servers hold and that a client fetches, fs.conf by its usual name,
// and the lines of a pvfs2tab by which a client finds a server.
//
// [Parse] takes what stock servers and their pvfs2-genconfig write, and keeps the
// text as it is, because clients compare the texts of servers byte for byte.
// Directives that nobody here knows are kept under their names ([Config.Option])
// and otherwise ignored, as stock servers do.
package config
