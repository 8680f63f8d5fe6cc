package perf

import "time"

// loop measures what one goroutine does alone, both sides of it.
type loop func(n int) error

func (l loop) begin(int) error  { return nil }
func (l loop) step(n int) error { return l(n) }
func (l loop) end() error       { return nil }

// MeasureRoundTrips measures n round trips that step makes by itself, for about
// budget. Who makes them is what the result says of the method.
func MeasureRoundTrips(method string, size int, budget time.Duration, step func(n int) error) (Result, error) {
	s, err := measure(loop(step), budget)
	if err != nil {
		return Result{}, err
	}
	return s.result(Latency, method, size, 1), nil
}
