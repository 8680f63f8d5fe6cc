// Package spoken says what it is for.
package spoken
