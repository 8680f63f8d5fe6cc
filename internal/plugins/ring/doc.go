// Package ring moves records from one process to another through shared memory. One side writes and
// one reads; neither waits for the other, and neither trusts it.
//
// A record has 1 to RecordMax bytes. It starts at a multiple of Line. The word before it has its
// length and its place. The reader polls only that word, so a small record crosses from core to
// core in one cache line. The writer clears the word behind a record before it publishes the
// record, because old data is there, which may have any value.
//
// The reader publishes its position, and whether it sleeps, in a cache line of its own. After
// publishing a record, the writer asks Writer.Asleep and wakes the reader if necessary, by means
// outside this package.
//
// Everything that the other side can write is checked: a word that is wrong for its place, or a
// reader ahead of its writer, is ErrCorrupt. The contents of a record may change while it is read,
// so a parser must read each byte once.
//
// layout.go is the layout, which docs/internals/protocols/plugins.md describes; writer.go and reader.go are the
// two sides. The contents of records are defined in internal/plugins/wire; the memory comes from the caller.
package ring
