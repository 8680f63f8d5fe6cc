package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/time/rate"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/blocksum"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// ScrubOptions configure Scrub.
type ScrubOptions struct {
	Rate     int64                        // bytes of datafiles read per second; 0 is no limit
	Found    func(Damage)                 // called for each damaged place; may be nil
	Progress func(datafiles, bytes int64) // called from time to time with the totals so far; may be nil
}

// Damage is a damaged place that a scrub found.
type Damage struct {
	Datafile proto.Handle // 0: the damage is in the database
	Metafile proto.Handle // of that datafile; 0: not known
	Offset   int64        // start in the datafile, bytes
	Length   int64        // bytes; whole blocks
	What     string
}

func (d Damage) String() string {
	if d.Datafile == 0 {
		return d.What
	}
	return fmt.Sprintf("datafile %d of file %d: %d bytes from %d on: %s", d.Datafile, d.Metafile, d.Length, d.Offset, d.What)
}

// Scrub compares all bytes of all datafiles with their checksums, and checks the database as Check does, while the store is in
// use. Some datafiles have checksums that a power loss left in doubt. They get new checksums of their present bytes, which are
// trusted from then on. An error says that it could not examine everything.
func (s *Store) Scrub(ctx context.Context, opts ScrubOptions) error {
	if opts.Found == nil {
		opts.Found = func(Damage) {}
	}
	if opts.Progress == nil {
		opts.Progress = func(int64, int64) {}
	}
	sc := newScrub(s, opts)
	problems, err := s.Check(false)
	for _, p := range problems {
		if !p.Leftover {
			opts.Found(Damage{What: p.String()})
		}
	}
	if err != nil {
		opts.Found(Damage{What: err.Error()})
	}
	return errors.Join(err, sc.datafiles(ctx))
}

// trustAgain gives datafiles whose checksums a power loss left in doubt new checksums of their present bytes. It reports whether the store is
// still open.
func (s *Store) trustAgain() bool {
	ctx, cancel := s.stopping()
	defer cancel()
	sc := newScrub(s, ScrubOptions{Rate: trustRate, Found: func(Damage) {}, Progress: func(int64, int64) {}})
	sc.untrusted = true
	if err := sc.datafiles(ctx); err != nil && ctx.Err() == nil {
		s.log.Warn("store: checksums of some datafiles are not trusted after the machine had stopped: scrub the store", "dir", s.dir, "err", err)
	}
	return ctx.Err() == nil
}

// trustRate is how many bytes per second it reads.
const trustRate = 64 << 20

func newScrub(s *Store, opts ScrubOptions) *scrub {
	limit := rate.Inf
	if opts.Rate > 0 {
		limit = rate.Limit(opts.Rate)
	}
	return &scrub{s: s, opts: opts, buffer: make([]byte, regionBytes), limit: rate.NewLimiter(limit, regionBytes)}
}

// A scrub is a scrub under way.
type scrub struct {
	s         *Store
	opts      ScrubOptions
	limit     *rate.Limiter
	buffer    []byte
	untrusted bool // read only datafiles whose checksums are not trusted
	files     int64
	bytes     int64
	lastError error
}

// scrubBatch is how many handles a scrub reads from the database at once.
const scrubBatch = 256

// datafiles scrubs all datafiles, in the order of their records.
func (sc *scrub) datafiles(ctx context.Context) error {
	var from []byte
	for {
		var batch []proto.Handle
		err := sc.s.View(func(t *Tx) error {
			c := t.table(tObjects).Cursor()
			key, record := c.Seek(from)
			if bytes.Equal(key, from) {
				key, record = c.Next()
			}
			for ; key != nil && len(batch) < scrubBatch; key, record = c.Next() {
				from = append(from[:0], key...)
				if len(key) != 8 {
					continue // Check reports it
				}
				body, err := unseal(key, record)
				if err != nil {
					continue
				}
				if o, err := parseObject(body); err == nil && o.Type == proto.TypeDatafile {
					batch = append(batch, keyHandle(key))
				}
			}
			if key == nil {
				from = nil
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, h := range batch {
			if err := sc.datafile(ctx, h); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				sc.lastError = err
			}
		}
		if from == nil {
			return sc.lastError
		}
	}
}

// datafile scrubs one datafile.
func (sc *scrub) datafile(ctx context.Context, h proto.Handle) error {
	fl := sc.s.files
	f, err := fl.acquire(h)
	if err != nil {
		return err
	}
	defer fl.release(f)
	c, err := f.open(fl, false)
	if err != nil {
		return err
	}
	sc.files++
	defer func() { sc.opts.Progress(sc.files, sc.bytes) }()
	if c == nil || c.sums == nil || sc.untrusted && c.trusted.Load() {
		return nil
	}
	found := sc.finder(h)
	for at := int64(0); ; {
		size, err := c.data.Size()
		if err != nil {
			return err
		}
		b := sc.buffer[:max(0, min(size-at, int64(len(sc.buffer))))]
		if len(b) == 0 {
			break
		}
		if err := sc.limit.WaitN(ctx, len(b)); err != nil {
			return err
		}
		n, err := c.readAt(b, at)
		at, sc.bytes = at+int64(n), sc.bytes+int64(n)
		damaged := (*DamageError)(nil)
		switch {
		case errors.As(err, &damaged):
			found.block(damaged.Offset)
			at = damaged.Offset + blocksum.Bytes
		case err != nil:
			found.end()
			sc.opts.Found(Damage{h, sc.metafile(h), at, 0, err.Error()})
			return err
		}
		sc.opts.Progress(sc.files, sc.bytes)
	}
	found.end()
	return sc.finish(c, h, !found.any)
}

// finish checks the parts of the checksum file that no read uses, and trusts the checksums from now on. whole: no block is
// damaged.
func (sc *scrub) finish(c *checked, h proto.Handle, whole bool) error {
	c.lockAll()
	defer c.unlockAll()
	size, err := c.data.Size()
	if err != nil {
		return err
	}
	if c.trusted.Load() {
		missing, err := c.missing(size)
		if err != nil {
			return err
		}
		if missing > 0 {
			sc.opts.Found(Damage{h, sc.metafile(h), size, missing, "the end is missing"})
		}
	}
	if c.headless.Load() {
		sc.opts.Found(Damage{h, sc.metafile(h), 0, 0, "the header of its checksums is damaged"})
	}
	if whole {
		sc.s.damage.forget(h)
	}
	if c.fl.readOnly {
		return nil
	}
	switch {
	case !c.trusted.Load():
		if err := c.forget(size); err != nil {
			return err
		}
		return c.begin(c.fl.boot)
	case c.headless.Load():
		return c.rewrite()
	}
	return nil
}

// missing is how many bytes, in whole blocks, a datafile has lost at its end, judging by its checksums.
func (c *checked) missing(size int64) (int64, error) {
	end, err := c.sums.Size()
	if err != nil {
		return 0, err
	}
	lost := int64(0)
	s := new(scratch)
	for first, number := blocksum.Count(size), blocksum.Count(size); blocksum.Place(number) < end; number += regionBlocks {
		if err := c.readSums(s.sums[:], number); err != nil {
			return 0, err
		}
		for i := range int64(regionBlocks) {
			if blocksum.At(s.sums[:], int(i)) != 0 {
				lost = (number + i + 1 - first) * blocksum.Bytes
			}
		}
	}
	return lost, nil
}

// metafile is the metafile of a datafile, if it is known.
func (sc *scrub) metafile(h proto.Handle) proto.Handle {
	of, err := sc.s.metafileOf(h)
	if err != nil {
		return 0
	}
	return of
}

// finder joins adjacent damaged blocks.
type finder struct {
	sc   *scrub
	h    proto.Handle
	from int64
	to   int64
	any  bool
}

func (sc *scrub) finder(h proto.Handle) *finder { return &finder{sc: sc, h: h} }

func (f *finder) block(at int64) {
	if at != f.to {
		f.end()
		f.from = at
	}
	f.to, f.any = at+blocksum.Bytes, true
}

func (f *finder) end() {
	if f.to > f.from {
		f.sc.opts.Found(Damage{f.h, f.sc.metafile(f.h), f.from, f.to - f.from, "not what was written: blocks do not match their checksums"})
	}
	f.from, f.to = 0, 0
}
