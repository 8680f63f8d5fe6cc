// Package config reads and writes the configuration of a file system. This is the text that all its servers have and that clients
// fetch, usually called fs.conf. It also reads the lines of a pvfs2tab, by which a client finds a server.
//
// [Parse] accepts the files of stock servers and of their pvfs2-genconfig. It keeps the text unchanged, because clients compare
// the texts of servers byte by byte.
//
// A server reads strictly: a misspelt ReadOnly must not leave a file system open for writing. So a keyword that OrangeFS does not
// have, or has in another section, is an error. keywords.go has the table of all keywords, including those of OrangeFS that have
// no effect here ([Config.Ignored]). A client, which enforces nothing, reads with [Options.Lenient], because servers may know
// more than it does.
//
// scan.go splits a text into lines. outline.go finds its sections and looks the keywords up in the table. value.go applies the
// values. parse.go has the entry points and the checks of the whole.
package config
