// Package ring moves records from one process to another through shared memory: one
// writes, one reads, neither waits for the other, and neither trusts it.
//
// A record is one byte up to RecordMax. It starts at a multiple of Line and has a word
// before it that says how long it is and where it stands; the reader polls that word
// alone, so that a small record crosses from core to core in one cache line. The
// writer clears the word behind a record before it publishes the record, for what lies
// there from the round before is data that anybody may have chosen.
//
// The reader says how far it is, and whether it sleeps, in a line of its own. Whoever
// publishes a record asks Writer.Asleep afterwards and rings, by means that are not
// this package's.
//
// Everything that the other side can write is checked: a word that cannot stand where it
// does, or a reader that is ahead of its writer, is ErrCorrupt. What a record says may
// change while it is read; whoever parses it reads each byte once.
//
// layout.go is the layout, which docs/plugin-protocol.md describes; writer.go and
// reader.go are the two sides. What records mean is not known here (plugins/wire), nor
// where the memory comes from.
package ring
