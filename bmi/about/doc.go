// Package about describes what the layers of Viaduct measure (Count), what they can be told
// (Setting), and what they report when it happens (EventType), with names and sentences for people.
// Package mpi/tool shows all of it to programs.
//
// Counters are plain fields of structures, and settings those of option types. A field that has a tag
// is described by it, so that the text is where the field is:
//
//	Sleeps uint64 `about:"times a caller slept"`
//
// fields.go reads these tags. registry.go is where packages offer what they have about an object.
package about
