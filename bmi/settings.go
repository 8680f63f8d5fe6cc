package bmi

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/about"
)

// A Describer is a driver that describes the settings of its methods to tools.
type Describer interface {
	Driver
	// Settings returns the driver's own options, or their defaults if options is nil, and what the
	// environment sets. Names begin with those of package bmi and of the driver: "bmi.tcp.keep_alive".
	Settings(options any) []about.Setting
}

// settingsOf returns the settings of a driver's methods.
func settingsOf(d Driver, options any) []about.Setting {
	if d, ok := d.(Describer); ok {
		return d.Settings(options)
	}
	return nil
}

// Settings returns the settings of the endpoint and of all methods that the program has, those of
// open methods as they were when the method was opened. Some can be changed.
func (e *Endpoint) Settings() []about.Setting {
	cfg := e.cfg
	cfg.SpinMax = cmp.Or(e.monitor.SpinMax(), -1)
	cfg.Limits.UnexpectedMessages, cfg.Limits.UnexpectedBytes = e.queue.limits()
	all := about.Settings("bmi", cfg)
	e.changeable(all)
	return append(all, e.methodSettings()...)
}

// changeable adds the functions that change settings.
func (e *Endpoint) changeable(all []about.Setting) {
	about.Changeable(all, "bmi.spin_max", func(d time.Duration) error {
		e.monitor.SetSpinMax(cmp.Or(d, spinTimeMax))
		return nil
	})
	about.Changeable(all, "bmi.limits.unexpected_messages", func(n int) error { return e.setLimit(n, 0) })
	about.Changeable(all, "bmi.limits.unexpected_bytes", func(n int) error { return e.setLimit(0, n) })
}

// setLimit changes those limits of the queue of unexpected messages that are not 0. Messages that a
// method holds because the queue was full are offered again when one is taken.
func (e *Endpoint) setLimit(messages, bytes int) error {
	if messages+bytes <= 0 {
		return fmt.Errorf("%w: a limit of %d, want at least 1", ErrInvalid, messages+bytes)
	}
	e.queue.setLimits(messages, bytes)
	return nil
}

// methodSettings returns the settings of all methods.
func (e *Endpoint) methodSettings() (all []about.Setting) {
	open := e.methods()
	for _, d := range Drivers() {
		i := slices.IndexFunc(open, func(in *instance) bool { return in.info.Name == d.Name() })
		if i >= 0 {
			all = append(all, open[i].settings...)
		} else {
			all = append(all, settingsOf(d, e.cfg.Options[d.Name()])...)
		}
	}
	return all
}
