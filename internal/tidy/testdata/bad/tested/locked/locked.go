// Package locked has a lock.
package locked

import "sync"

var Lock sync.Mutex
