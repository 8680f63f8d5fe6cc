package command

import (
	"errors"
	"strconv"
	"time"
)

// A duration is a time on the command line: 90 and 90s mean the same.
type duration time.Duration

var errDuration = errors.New("a time is written 90, in seconds, or 1m30s or 500ms, and is not less than 0")

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return errDuration
	}
	*d = duration(v)
	return nil
}

// String implements pflag.Value.
func (d *duration) String() string {
	if *d == 0 {
		return "" // so that the help shows no default
	}
	return time.Duration(*d).String()
}

// Type implements pflag.Value.
func (*duration) Type() string { return "time" }
