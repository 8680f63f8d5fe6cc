package server

// Limits of a job. The first three are sent to the processes. They are equal to those of Hydra,
// because some clients read into buffers of that size. Keys and values are in bytes, including the
// zero that ends them in C.
const (
	nameBytesMax  = 256
	keyBytesMax   = 64
	valueBytesMax = 1024
	// pairsBytesMax limits the size of all pairs of a job together.
	pairsBytesMax = 64 << 20
	// namesMax limits the published service names.
	namesMax = 4096
	// spawnsMax limits the programs of one spawn.
	spawnsMax = 64
	// spawnPairsMax limits the pairs that a parent may put before a spawn.
	spawnPairsMax = 256
)
