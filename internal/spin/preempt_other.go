//go:build !linux

package spin

func involuntary() (thread int, switches int64) { return 0, 0 }
