package b

import "testing"

func TestDeeper(t *testing.T) {}
