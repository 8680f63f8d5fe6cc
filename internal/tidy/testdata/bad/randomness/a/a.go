// Package a draws from generators that nobody can seed.
package a

import old "math/rand"

var _ = old.Int()
