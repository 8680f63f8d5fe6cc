// Package newcomer is not.
package newcomer

const A = 1
