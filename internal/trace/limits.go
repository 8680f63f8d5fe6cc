package trace

import "time"

const (
	// trackEvents is the default size of a ring; an event takes some 170 bytes.
	trackEvents = 4096
	// tracksMax limits the Tracks of a process.
	tracksMax = 1 << 12
	// textBytesMax limits a string of an event.
	textBytesMax = 256
	// writeEvery is how often events are written, if no ring is half full before.
	writeEvery = 100 * time.Millisecond
	// writePause is between two writes, so that a program with a million messages a second spends its processors on them, not on
	// text: what a ring takes in this time, some 200,000 events a second, is written, and the rest is dropped and counted.
	writePause = 20 * time.Millisecond
	// writeBytes is how much is written at once, about.
	writeBytes = 256 << 10
	// drainEvents is how many places of a ring are freed at once.
	drainEvents = 512
	// FileBytesMax is the default limit of a file. Perfetto opens files of this size.
	FileBytesMax = 1 << 30
)
