package perf

import "time"

// loop measures a single goroutine that does both sides.
type loop func(n int) error

func (l loop) begin(int) error  { return nil }
func (l loop) step(n int) error { return l(n) }
func (l loop) end() error       { return nil }

// MeasureRoundTrips measures n round trips that step makes by itself, for about
// budget. method is the name for the result.
func MeasureRoundTrips(method string, size int, budget time.Duration, step func(n int) error) (Result, error) {
	s, err := measure(loop(step), budget)
	if err != nil {
		return Result{}, err
	}
	return s.result(Latency, method, size, 1), nil
}
