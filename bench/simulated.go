package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// goldenFolder is where the tests of the UDP transport keep their results from
// simulation in virtual time, which do not depend on the machine. The tests fail if
// the tables do not match the code.
const goldenFolder = "internal/nic/udp/reliable/testdata"

// simulated are the results in those tables for the congestion control that is
// used.
type simulated struct {
	// Goodput1 and Goodput5 are the goodput with 1 % and 5 % loss, as a fraction of
	// that without loss.
	Goodput1 float64 `json:"goodput_1"`
	Goodput5 float64 `json:"goodput_5"`
	// Fairness is Jain's index of four senders that start together on a path
	// without loss; FairnessWorst is the smallest of all FairnessCases.
	Fairness      float64 `json:"fairness"`
	FairnessWorst float64 `json:"fairness_worst"`
	FairnessCases int     `json:"fairness_cases"`
}

var (
	// goodputLine: name, loss in %, Gbit/s, % of that without loss.
	goodputLine = regexp.MustCompile(`(?m)^delay +([0-9.]+) +[0-9.]+ +([0-9.]+) `)
	// fairLine: how they start, queue in KiB, loss in %, ms, Jain's index.
	fairLine = regexp.MustCompile(`(?m)^(together|one late|in turn) +([0-9]+) +([0-9.]+) +[0-9]+ +([0-9.]+) `)
)

func readSimulated(folder string) (*simulated, error) {
	goodput, err := os.ReadFile(filepath.Join(folder, "goodput.golden"))
	if err != nil {
		return nil, err
	}
	fair, err := os.ReadFile(filepath.Join(folder, "fair.golden"))
	if err != nil {
		return nil, err
	}
	return parseSimulated(string(goodput), string(fair))
}

func parseSimulated(goodput, fair string) (*simulated, error) {
	left := make(map[string]float64)
	for _, m := range goodputLine.FindAllStringSubmatch(goodput, -1) {
		percent, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, fmt.Errorf("the table of goodput: %w", err)
		}
		left[m[1]] = percent / 100
	}
	s := &simulated{Goodput1: left["1.0"], Goodput5: left["5.0"], FairnessWorst: 1}
	for _, m := range fairLine.FindAllStringSubmatch(fair, -1) {
		jain, err := strconv.ParseFloat(m[4], 64)
		if err != nil {
			return nil, fmt.Errorf("the table of fairness: %w", err)
		}
		if m[1] == "together" && m[3] == "0.0" {
			s.Fairness = jain
		}
		s.FairnessWorst = min(s.FairnessWorst, jain)
		s.FairnessCases++
	}
	if s.Goodput1 == 0 || s.Goodput5 == 0 || s.Fairness == 0 {
		return nil, errors.New("the tables of goodput and fairness look different from what is expected")
	}
	return s, nil
}
