package quiet

import "testing"

func TestQuiet(t *testing.T) {}
