package program

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/viaduct-hpc/viaduct/internal/units"
)

// QuietFlag adds --quiet.
func QuietFlag(f *pflag.FlagSet, p *bool) {
	f.BoolVarP(p, "quiet", "q", false, "print errors only")
}

// DurationFlag adds an option with a time: 3s, 200ms, or a number of seconds.
func DurationFlag(f *pflag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	f.Var((*duration)(p), name, usage)
}

type duration time.Duration

// String is the default in the help; pflag shows none for an empty text.
func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type is the name of the value in the help.
func (*duration) Type() string { return "time" }

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	v, err := units.ParseDuration(text)
	if err == nil {
		*d = duration(v)
	}
	return err
}

// SizeFlag adds an option with a size in bytes: 8, 64KiB, 1TiB.
func SizeFlag[T int | int64](f *pflag.FlagSet, p *T, name string, value T, usage string) {
	SizeFlagP(f, p, name, "", value, usage)
}

// SizeFlagP is SizeFlag with a short name.
func SizeFlagP[T int | int64](f *pflag.FlagSet, p *T, name, short string, value T, usage string) {
	*p = value
	f.VarP(&size[T]{p}, name, short, usage)
}

type size[T int | int64] struct{ bytes *T }

// String is the default in the help; pflag shows none for an empty text.
func (s *size[T]) String() string {
	if s.bytes == nil || *s.bytes == 0 {
		return ""
	}
	return units.FormatBytes(int64(*s.bytes))
}

// Type is the name of the value in the help.
func (*size[T]) Type() string { return "size" }

// Set implements pflag.Value.
func (s *size[T]) Set(text string) error {
	n, err := units.ParseBytes(text)
	if err == nil {
		*s.bytes = T(n)
	}
	return err
}

// NotNegative refuses an option with a negative number or time.
func NotNegative[T int | int64 | time.Duration](name string, value T) error {
	if value < 0 {
		return Usagef("--%s %v: it cannot be negative", name, value)
	}
	return nil
}

// InRange refuses an option outside of a range; most < 0 means any number.
func InRange(name string, value, least, most int) error {
	switch {
	case most < 0 && value < least:
		return Usagef("--%s %d: choose %d or more", name, value, least)
	case most >= 0 && (value < least || value > most):
		return Usagef("--%s %d: choose %d to %d", name, value, least, most)
	}
	return nil
}
