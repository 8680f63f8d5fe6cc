package tracefile

import "time"

// Limits for files of others.
const (
	// lineBytesMax limits an event. Ours have less than 4 KiB.
	lineBytesMax = 64 << 10
	// FilesMax limits the files of a call.
	FilesMax = 1 << 17
	// timeMax limits times in a file, so that sums do not overflow.
	timeMax = 10 * 366 * 24 * time.Hour
	// matchesMax limits the ends of messages that are matched, over all files; later ones get no arrows.
	matchesMax = 2 << 20
	// namesMax limits the different texts that are kept, over all files.
	namesMax = 1 << 16
	// endpointsMax limits the endpoints of all files.
	endpointsMax = 1 << 18
)
