package wire

// Version is that of the protocol. Agents of another version refuse to start.
const Version = 1

// Magic is the beginning of an agent's output.
const Magic = "\x00viaduct agent 1\n"

// End is the last byte of a frame: batch systems pass output on in whole lines.
const End = '\n'

// Limits of what one frame may hold. A frame that is longer, or has more in it, is refused before
// anything is allocated for it.
const (
	// FrameBytesMax is the largest frame, without its head and its End.
	FrameBytesMax = 16 << 20
	// HeadBytes is the size of the length and the kind.
	HeadBytes = 5
	// NodesMax is the largest number of agents, and RanksMax that of the processes of a group.
	NodesMax = 1 << 20
	RanksMax = 1 << 20
	// GroupsMax is the largest number of a group: a job may spawn again and again.
	GroupsMax = 1 << 40
	// AsksMax is the largest number of a question.
	AsksMax = 1 << 50
	// OutputBytesMax is the most output in one frame.
	OutputBytesMax = 64 << 10
	// TextBytesMax limits sentences, names and paths, ArgBytesMax arguments and environment variables.
	TextBytesMax = 8 << 10
	ArgBytesMax  = 1 << 20
	// KeyBytesMax and ValueBytesMax limit pairs of PMI, PairsMax their number in a frame.
	KeyBytesMax   = 256
	ValueBytesMax = 64 << 10
	PairsMax      = 1 << 20
	// ListMax limits other lists.
	ListMax = 1 << 20
	// CodeMax is the largest number of a status or a process.
	CodeMax = 1 << 32
	// MissingMax is how many ranks a list of missing ones names.
	MissingMax = 9
)
