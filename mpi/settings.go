package mpi

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Settings that must be the same in all processes of a job, because they decide which messages
// collective operations send, are those of rank 0. If they are wrong, it publishes that instead, so
// that all processes end with the same error, and none waits.
const settingsKey = "mpi-settings-"

// settings are what rank 0 decides for all.
type settings struct {
	ranksPerHost int          // pretended ranks per host; 0: use the real hosts
	tuning       *coll.Tuning // nil: none
	spread       spread
	number       jobNumber
	hosts        []string // of each rank, if spread is allAlike
}

// settingsText is the form in which settings travel: JSON, compressed, in base64, as launchers do
// not take every text.
type settingsText struct {
	RanksPerHost int    `json:"ranks_per_host,omitempty"`
	Tuning       string `json:"tuning,omitempty"`
	Spread       spread `json:"spread,omitempty"`
	Number       []byte `json:"number,omitempty"`
	Wrong        string `json:"wrong,omitempty"`
}

// wrongBytesMax limits the error that rank 0 publishes.
const wrongBytesMax = 1 << 10

// ownSettings returns the settings that this process would decide for all, if all are on one host.
func ownSettings(o Options) (settings, error) {
	s := settings{ranksPerHost: o.RanksPerHost, spread: onOneHost, number: newJobNumber()}
	if text := environ.Getenv(RanksPerHostEnv); text != "" && s.ranksPerHost == 0 {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return s, errclass.New(errclass.Arg, "%s is %.40q: give a number of ranks", RanksPerHostEnv, text)
		}
		s.ranksPerHost = n
	}
	if s.ranksPerHost < 0 {
		return s, errclass.New(errclass.Arg, "%d ranks per host: give a number of ranks, or 0", s.ranksPerHost)
	}
	if o.Tuning == "" {
		return s, nil
	}
	f, err := os.Open(o.Tuning)
	if err != nil {
		return s, errclass.Wrap(errclass.Arg, err, "the tuning table")
	}
	defer f.Close()
	s.tuning, err = coll.ParseTuning(o.Tuning, f)
	return s, err
}

// agree finds what rank 0 decides for all. own is the site of this process.
func (p *Process) agree(ctx context.Context, o Options, own site) (err error) {
	b := p.boot
	if b.Size() == 1 {
		p.told, err = ownSettings(o)
		return err
	}
	if err := tell(ctx, b, placeKey, own.encode()); err != nil {
		return err
	}
	if err := fence(ctx, b); err != nil {
		return err
	}
	if b.Rank() == 0 {
		if err := tellSettings(ctx, b, o, own); err != nil {
			return err
		}
	}
	if err := fence(ctx, b); err != nil {
		return err
	}
	text, err := learn(ctx, b, settingsKey, 0)
	if err != nil {
		return err
	}
	if p.told, err = parseSettings(text); err != nil || p.told.spread != allAlike {
		return err
	}
	p.told.hosts, err = learnHosts(ctx, b)
	return err
}

// tellSettings publishes the settings of rank 0.
func tellSettings(ctx context.Context, b boot.Boot, o Options, own site) error {
	widest, of, err := comparePlaces(ctx, b, own)
	if err != nil {
		return err
	}
	if widest == allAlike {
		told, err := tellHosts(ctx, b, of)
		if err != nil {
			return err
		}
		if !told {
			widest = farApart
		}
	}
	s, err := ownSettings(o)
	t := settingsText{RanksPerHost: s.ranksPerHost, Spread: widest, Number: s.number[:]}
	if s.tuning != nil {
		t.Tuning = s.tuning.String()
	}
	if err != nil {
		t.Wrong = err.Error()[:min(len(err.Error()), wrongBytesMax)]
	}
	return tellText(ctx, b, t, textBytesMax)
}

// tellText publishes settings in at most max bytes, or an error in their place.
func tellText(ctx context.Context, b boot.Boot, t settingsText, max int) error {
	text := t.encode()
	if len(text) > max {
		text = settingsText{Wrong: "the tuning table is too long for the launcher: leave out operations, ranks or sizes"}.encode()
	}
	return tell(ctx, b, settingsKey, text)
}

// encode returns the settings as text for a launcher.
func (t settingsText) encode() string { return packText(t) }

// settingsBytesMax limits the decompressed settings of rank 0.
const settingsBytesMax = 2 * coll.TuningBytesMax

func parseSettings(text string) (s settings, err error) {
	var t settingsText
	err = unpackText(text, settingsBytesMax, &t)
	switch {
	case err != nil:
		return s, errclass.Wrap(errclass.Other, err, "the settings of rank 0: run the same release everywhere")
	case t.Wrong != "":
		return s, errclass.New(errclass.Arg, "rank 0 has wrong settings: %q", t.Wrong)
	case t.RanksPerHost < 0:
		return s, errclass.New(errclass.Other, "rank 0 puts %d ranks on a host", t.RanksPerHost)
	case t.Spread < 0 || t.Spread >= spreadEnd || len(t.Number) != len(s.number):
		return s, errclass.New(errclass.Other, "the settings of rank 0 (%d, %d bytes): run the same release everywhere", t.Spread, len(t.Number))
	}
	s.ranksPerHost, s.spread, s.number = t.RanksPerHost, t.Spread, jobNumber(t.Number)
	if t.Tuning != "" {
		s.tuning, err = coll.ParseTuning("the tuning table of rank 0", strings.NewReader(t.Tuning))
	}
	return s, err
}
