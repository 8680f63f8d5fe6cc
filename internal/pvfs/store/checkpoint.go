package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
)

// If metadata is not synced with each commit, a power loss leaves an arbitrary subset of the pages written since the last sync,
// and the database may be unusable. So the state of the last sync is kept. A reader that stays open protects its pages from being
// overwritten. The commits do overwrite its meta page, so the file "synced" has a copy of that. A start after a power loss
// restores the meta page, and the database is again as it was at that sync.
//
// The file also says whether the store was closed, and in which boot of the machine it was opened.
type checkpoint struct {
	file disk.File
	boot string // identifies the boot of the machine
	seq  uint64 // of the last slot written
	at   *held  // the state that is kept; nil: every commit was synced
}

// A held state of the database stays complete while its reader is open.
type held struct {
	reader *bolt.Tx
	page   metaPage
}

// A metaPage is the page of the database that leads to all other pages of one state.
type metaPage struct {
	pageSize int
	txid     uint64
	head     []byte // the used part of the page
}

// How the store was left by its last run.
type leftAs byte

const (
	leftUnknown leftAs = iota // there is no file: the store is new
	leftClosed
	leftOpen     // all commits were synced
	leftDeferred // some commits were not synced: the slot has the last synced state
	leftKinds
)

// A slot says how the store was left, unless a newer slot follows.
type slotRecord struct {
	as   leftAs
	seq  uint64
	boot string
	page metaPage // if leftDeferred
}

const (
	checkpointName = "synced"
	slotBytes      = 4096
	metaPageBytes  = 80 // header and meta of a page of bbolt
	metaPageFlag   = 4
	bootIDPath     = "/proc/sys/kernel/random/boot_id"
)

var checkpointKey = []byte("checkpoint")

// bootID identifies this boot of the machine.
func bootID() (string, error) {
	b, err := os.ReadFile(bootIDPath)
	if err != nil {
		return "", fmt.Errorf("store: no name of this run of the machine: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// seal encodes the slot.
func (r *slotRecord) seal() []byte {
	record := seal(checkpointKey, slotBytes, func(b []byte) []byte {
		b = binary.AppendUvarint(b, uint64(r.as))
		b = binary.LittleEndian.AppendUint64(b, r.seq)
		b = appendString(b, r.boot)
		if r.as != leftDeferred {
			return b
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(r.page.pageSize))
		b = binary.LittleEndian.AppendUint64(b, r.page.txid)
		return appendString(b, string(r.page.head))
	})
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, slotBytes), uint32(len(record)))
	return append(b, record...)
}

// parseSlot decodes a slot.
func parseSlot(b []byte) (r slotRecord, err error) {
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return r, damaged("slot of %d bytes", len(b))
	}
	body, err := unseal(checkpointKey, b[4:4+binary.LittleEndian.Uint32(b)])
	if err != nil {
		return r, err
	}
	in := reader{b: body}
	r.as, r.seq, r.boot = leftAs(in.uvarint(uint64(leftKinds-1))), in.uint64(), in.string()
	if r.as == leftDeferred {
		r.page.pageSize, r.page.txid = int(in.uint64()), in.uint64()
		r.page.head = []byte(in.string())
	}
	if in.bad || len(in.b) > 0 || r.as == leftUnknown {
		return slotRecord{}, damaged("slot with a malformed record")
	}
	return r, nil
}

// openCheckpoint opens the file, and returns how the store was left.
func openCheckpoint(d disk.Disk, path, boot string) (*checkpoint, slotRecord, error) {
	f, err := d.Open(path, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, slotRecord{}, err
	}
	last, err := lastSlot(f)
	if err != nil {
		return nil, last, errors.Join(err, f.Close())
	}
	return &checkpoint{file: f, boot: boot, seq: last.seq}, last, nil
}

// lastSlot is the newest valid slot. At any time at least one slot is valid.
func lastSlot(f disk.File) (last slotRecord, err error) {
	for i := range int64(2) {
		b := make([]byte, slotBytes)
		n, err := readFull(f, b, i*slotBytes)
		if err != nil {
			return slotRecord{}, err
		}
		if r, err := parseSlot(b[:n]); err == nil && r.seq >= last.seq {
			last = r
		}
	}
	return last, nil
}

func readFull(f disk.File, b []byte, at int64) (n int, err error) {
	for n < len(b) {
		k, err := f.Pread(b[n:], at+int64(n))
		if err != nil || k == 0 {
			return n, err
		}
		n += k
	}
	return n, nil
}

// write writes a slot over the older one, and syncs it.
func (c *checkpoint) write(as leftAs, page metaPage) error {
	r := slotRecord{as: as, seq: c.seq + 1, boot: c.boot, page: page}
	at := int64(r.seq%2) * slotBytes
	for b := r.seal(); len(b) > 0; {
		n, err := c.file.Pwrite(b, at)
		if err != nil {
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	if err := c.file.Sync(); err != nil {
		return err
	}
	c.seq = r.seq
	return nil
}

// hold starts to keep the state of the last commit. No commit may be under way.
func hold(db *bolt.DB, f *os.File) (*held, error) {
	var h held
	err := guard("hold", func() (err error) {
		if h.reader, err = db.Begin(false); err != nil {
			return err
		}
		if h.page, err = readMetaPage(f, db.Info().PageSize, uint64(h.reader.ID())); err != nil {
			return errors.Join(err, h.reader.Rollback())
		}
		return nil
	})
	return &h, err
}

// drop stops keeping the state.
func (h *held) drop() {
	if h != nil {
		_ = h.reader.Rollback() // cannot fail for a reader
	}
}

// readMetaPage reads the meta page of a transaction's state.
func readMetaPage(f *os.File, pageSize int, txid uint64) (metaPage, error) {
	p := metaPage{pageSize: pageSize, txid: txid, head: make([]byte, metaPageBytes)}
	if _, err := f.ReadAt(p.head, p.at()); err != nil {
		return p, err
	}
	return p, p.check()
}

// at is the page's offset in the file.
func (p *metaPage) at() int64 { return int64(p.txid%2) * int64(p.pageSize) }

// Offsets in a meta page of bbolt. Each page begins with a header of 16 bytes: id, flags, count, overflow.
const (
	pageFlagsAt = 8
	metaSizeAt  = 16 + 8
	metaTxidAt  = 16 + 48
)

// check verifies that this is a meta page of bbolt with the right transaction.
func (p *metaPage) check() error {
	size, b := p.pageSize, p.head
	if len(b) != metaPageBytes || size < metaPageBytes || size > 1<<20 || size&(size-1) != 0 ||
		binary.LittleEndian.Uint64(b) != p.txid%2 || binary.LittleEndian.Uint16(b[pageFlagsAt:])&metaPageFlag == 0 ||
		binary.LittleEndian.Uint32(b[metaSizeAt:]) != uint32(size) || binary.LittleEndian.Uint64(b[metaTxidAt:]) != p.txid {
		return damaged("a meta page of transaction %d that is none", p.txid)
	}
	return nil
}

// restore returns the database to the page's state. It clears the other meta page, which has another state.
func (p *metaPage) restore(d disk.Disk, path string) (err error) {
	if err := p.check(); err != nil {
		return err
	}
	f, err := d.OpenDatabase(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("store: another process has it open: %w: %w", err, syscall.EBUSY)
	}
	other := metaPage{pageSize: p.pageSize, txid: p.txid + 1, head: make([]byte, metaPageBytes)}
	binary.LittleEndian.PutUint64(other.head, other.txid%2)
	binary.LittleEndian.PutUint16(other.head[pageFlagsAt:], metaPageFlag)
	for _, page := range []*metaPage{p, &other} {
		if _, err := f.WriteAt(page.head, page.at()); err != nil {
			return err
		}
	}
	return d.SyncDatabase(f)
}
