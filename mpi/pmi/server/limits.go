package server

// Limits of a job. The first three are told to the processes, as their maxes; they are those
// of Hydra, because clients that read into buffers of that size exist. Keys and values are
// in bytes with the zero that ends them in C.
const (
	nameBytesMax  = 256
	keyBytesMax   = 64
	valueBytesMax = 1024
	// pairsBytesMax is what the pairs of a job may take together.
	pairsBytesMax = 64 << 20
	// namesMax is how many service names may be published.
	namesMax = 4096
	// spawnsMax is how many programs one spawn may name.
	spawnsMax = 64
	// spawnPairsMax is how many pairs a parent may put before a spawn.
	spawnPairsMax = 256
)
