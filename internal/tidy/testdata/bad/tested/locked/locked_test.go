package locked

import "testing"

func TestLock(t *testing.T) { Lock.Lock() }
