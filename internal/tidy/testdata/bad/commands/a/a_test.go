package a

import "testing"

// TestHere is one test of two.
func TestHere(t *testing.T) {}

func BenchmarkFast(b *testing.B) {}
