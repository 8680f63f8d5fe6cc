package a

import other "math/rand/v2"

var seed = other.Uint64()
