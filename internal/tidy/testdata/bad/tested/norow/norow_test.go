package norow

import "testing"

func TestNoRow(t *testing.T) {}
