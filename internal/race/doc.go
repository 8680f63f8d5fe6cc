// Package race says whether the race detector watches, which makes everything slow and
// allocates. Only tests, and what tests are made of, may behave differently for it.
package race
