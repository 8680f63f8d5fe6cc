package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// An exchange is a ping-pong of messages of 8 bytes for a given time. Unlike the measurements
// of package perf it does not plan how many messages there will be, because beside other busy
// processes one may take 100 ns and the next one 10 ms. Each message says whether another one
// follows. peers/exchange.c is the same for other MPIs.
const exchange perf.Test = "exchange"

// The words of messages.
const (
	wordMore = 1
	wordLast = 2
)

// A partner is this side's connection to the other side.
type partner interface {
	send(word uint64) error
	recv() (word uint64, err error)
}

// lead makes round trips until the time is over, and returns how many.
func lead(p partner, budget time.Duration) (trips int, took time.Duration, err error) {
	start := time.Now()
	for steps := 1; took < budget; {
		before := took
		for range steps {
			if err := roundTrip(p, wordMore); err != nil {
				return 0, 0, err
			}
		}
		trips += steps
		took = time.Since(start)
		steps = nextSteps(steps, took-before)
	}
	return trips, took, roundTrip(p, wordLast)
}

// nextSteps is how many round trips to make until the next look at the clock, after some that
// took a time: more while they are fast, so that the clock costs little, and one if they are
// slow.
func nextSteps(steps int, took time.Duration) int {
	const stepsMax, slow = 64, time.Millisecond
	if took > slow {
		return 1
	}
	return min(2*steps, stepsMax)
}

func roundTrip(p partner, word uint64) error {
	if err := p.send(word); err != nil {
		return err
	}
	got, err := p.recv()
	if err == nil && got != word {
		err = fmt.Errorf("the answer is %d and should be %d", got, word)
	}
	return err
}

// follow answers until the last message.
func follow(p partner) error {
	for {
		word, err := p.recv()
		if err != nil {
			return err
		}
		if err := p.send(word); err != nil || word == wordLast {
			return err
		}
	}
}

// warmUp is the part of a budget, at the start, that is not counted.
func warmUp(budget time.Duration) time.Duration { return budget / 5 }

// leadTwice warms up, and returns the messages of the exchange itself.
func leadTwice(p partner, budget time.Duration) (messages int, took time.Duration, err error) {
	if _, _, err := lead(p, warmUp(budget)); err != nil {
		return 0, 0, err
	}
	trips, took, err := lead(p, budget)
	return 2 * trips, took, err
}

// followTwice answers both exchanges of leadTwice.
func followTwice(p partner) error { return errors.Join(follow(p), follow(p)) }

// printExchange prints the result: messages of all goroutines a second.
func printExchange(method string, goroutines, messages int, took time.Duration) error {
	rate := float64(messages) / took.Seconds()
	return perf.Result{
		Test: exchange, Method: method, Size: rateSize, Window: goroutines, Median: rate, P99: rate, Unit: perf.UnitMessages,
	}.WriteJSON(os.Stdout)
}

// parseBudget reads a time as formatted by time.Duration.
func parseBudget(text string) (time.Duration, error) {
	budget, err := time.ParseDuration(text)
	if err == nil && budget <= 0 {
		err = fmt.Errorf("a time of %v", budget)
	}
	return budget, err
}

// goroutinesMax bounds the goroutines of an exchange.
const goroutinesMax = 1024

func parseGoroutines(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && (n < 1 || n > goroutinesMax) {
		err = fmt.Errorf("%d goroutines: 1 to %d are possible", n, goroutinesMax)
	}
	return n, err
}
