// Package matchbits breaks purity in every way.
package matchbits

import (
	"math/bits"
	"os"
	"sync"
	clock "time"

	"go.uber.org/atomic"
)

var (
	_ = bits.Len
	_ = os.Args
	_ sync.Mutex
	_ atomic.Int64
	_ clock.Duration = clock.Second
)

func now() clock.Time {
	wake := make(chan struct{})
	go func() { close(wake) }()
	return clock.Now()
}
