// Package y is internal.
package y

const A = 1
