package server

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// Withdrawals are noted in the store, so that they hold after a restart. The record of an object is when what was issued before is
// void, when it may be forgotten, and the owner.
const (
	withdrawnPrefix = "withdrawn/"
	withdrawnLen    = 8 + 8 + 4
	withdrawnSweep  = time.Minute // between two looks for what may be forgotten
	withdrawnBatch  = 1024        // forgotten at a time
)

func withdrawnKey(h proto.Handle) string { return fmt.Sprintf("%s%016x", withdrawnPrefix, uint64(h)) }

// withdrawnUntil is when no capability from before now is good any more, in Unix seconds. The clock of the server that issued it may be
// ahead, by as much as a capability lasts: servers do not get along if their clocks differ by more.
func (s *Server) withdrawnUntil() int64 {
	if s.fs.Security.TurnOffTimeouts {
		return math.MaxInt64
	}
	return s.clock().Add(2 * s.fs.Security.CapabilityTimeout).Unix()
}

// noteWithdrawal notes one in a transaction.
func (s *Server) noteWithdrawal(tx *store.Tx, w proto.Withdrawal) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(w.At))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.withdrawnUntil()))
	b = binary.LittleEndian.AppendUint32(b, w.Owner)
	return tx.SetRecord(withdrawnKey(w.Object), b)
}

func parseWithdrawal(key string, b []byte) (h proto.Handle, w withdrawal, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(key, withdrawnPrefix), 16, 64)
	if err != nil || len(b) != withdrawnLen {
		return 0, w, false
	}
	return proto.Handle(n), withdrawal{
		at:    int64(binary.LittleEndian.Uint64(b)),
		until: int64(binary.LittleEndian.Uint64(b[8:])),
		owner: binary.LittleEndian.Uint32(b[16:]),
	}, true
}

// loadWithdrawals takes what an earlier run noted. It holds for open files as well now. Of this server's own objects no capability of
// that run is good: one may have been issued between the note and the commit.
func (s *Server) loadWithdrawals() error {
	now := s.moment()
	return s.store.View(func(tx *store.Tx) error {
		for key, record := range tx.Records(withdrawnPrefix) {
			h, is, ok := parseWithdrawal(key, record)
			if !ok {
				s.log.Warn("a note of withdrawn rights is not readable", "record", key)
				continue
			}
			server, ok := s.fs.Owner(h)
			if !ok {
				continue
			}
			if server == s.me {
				is.at = now
			}
			is.ended = is.at
			s.withdrawals.hold(server, h, is)
		}
		return nil
	})
}

// sweepWithdrawals forgets, again and again, those that no capability can be refused for.
func (s *Server) sweepWithdrawals() {
	for pause(s.ctx, withdrawnSweep) {
		for {
			n, err := s.forgetWithdrawals()
			if err != nil {
				s.log.Warn("old notes of withdrawn rights are not removed", "err", err)
			}
			if err != nil || n < withdrawnBatch {
				break
			}
		}
	}
}

// forgetWithdrawals forgets some, and returns how many.
func (s *Server) forgetWithdrawals() (n int, err error) {
	var some []proto.Handle
	err = s.store.View(func(tx *store.Tx) error {
		for key, record := range tx.Records(withdrawnPrefix) {
			if h, is, ok := parseWithdrawal(key, record); ok && s.isOver(tx, h, is) {
				if some = append(some, h); len(some) == withdrawnBatch {
					break
				}
			}
		}
		return nil
	})
	if err != nil || len(some) == 0 {
		return 0, err
	}
	was, over := map[proto.Handle]withdrawal{}, []proto.Handle(nil)
	for _, h := range some {
		was[h] = s.withdrawals.get(h)
	}
	err = s.store.Update(func(tx *store.Tx) error {
		over = over[:0]
		for _, h := range some {
			record, err := tx.Record(withdrawnKey(h))
			if err != nil {
				return err
			}
			if _, is, ok := parseWithdrawal(withdrawnKey(h), record); ok && s.isOver(tx, h, is) { // as it is by now
				over = append(over, h)
				if err := tx.SetRecord(withdrawnKey(h), nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, h := range over {
		s.withdrawals.forget(h, was[h])
	}
	return len(over), nil
}

// isOver reports whether no capability can be refused for a withdrawal: they are all too old, or the object, of this server, is gone.
func (s *Server) isOver(tx *store.Tx, h proto.Handle, is withdrawal) bool {
	if is.until < s.clock().Unix() {
		return true
	}
	if !s.ownedBy(h, s.me) {
		return false
	}
	t, err := tx.Type(h)
	return err == nil && t == proto.TypeNone
}
