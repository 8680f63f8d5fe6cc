//go:build !amd64 && !arm64

package bmi

func relax() {}
