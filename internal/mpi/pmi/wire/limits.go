package wire

// Limits of input from the other side, in bytes.
const (
	// LineBytesMax is the longest line of PMI-1, including its end. A spawn's arguments are lines,
	// too.
	LineBytesMax = 64 << 10
	// SpawnBytesMax is the longest spawn, from mcmd to endcmd.
	SpawnBytesMax = 1 << 20
	// FrameBytesMax is the longest command of PMI-2, without its length.
	FrameBytesMax = 64 << 10
	// FrameHeadBytes is the size of the length prefix of a PMI-2 command.
	FrameHeadBytes = 6
	// quoteBytesMax is how much of invalid input an error repeats.
	quoteBytesMax = 60
)
