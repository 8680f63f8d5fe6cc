//go:build !linux

package spin

var yieldCore func()
