package server

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Withdrawals are recorded in the store, so that they hold after a restart. A record has the time up to which capabilities are
// void, the time when the record may be deleted, and the owner.
const (
	withdrawnPrefix = "withdrawn/"
	withdrawnLen    = 8 + 8 + 4
	withdrawnSweep  = time.Minute // between two searches for records to delete
	withdrawnBatch  = 1024        // deleted at a time
)

func withdrawnKey(h proto.Handle) string { return fmt.Sprintf("%s%016x", withdrawnPrefix, uint64(h)) }

// withdrawnUntil is the time, in Unix seconds, when all capabilities issued up to now have expired. The clock of the issuing
// server may be ahead by as much as a capability lasts: servers whose clocks differ by more do not work together.
func (s *Server) withdrawnUntil() int64 {
	if s.fs.Security.TurnOffTimeouts {
		return math.MaxInt64
	}
	return s.clock().Add(2 * s.fs.Security.CapabilityTimeout).Unix()
}

// noteWithdrawal records a withdrawal in a transaction.
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
		Withdrawal: rights.Withdrawal{At: int64(binary.LittleEndian.Uint64(b)), Owner: binary.LittleEndian.Uint32(b[16:])},
		until:      int64(binary.LittleEndian.Uint64(b[8:])),
	}, true
}

// loadWithdrawals loads the records of an earlier run. They now apply to open files as well. For this server's own objects, all
// capabilities of that run are void: one may have been issued between the record and the commit.
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
				is.At = now
			}
			is.Ended = is.At
			s.withdrawals.hold(server, h, is)
		}
		return nil
	})
}

// sweepWithdrawals periodically drops withdrawals that no capability can match any more.
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

// forgetWithdrawals drops up to withdrawnBatch of them, and returns how many.
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
			if _, is, ok := parseWithdrawal(withdrawnKey(h), record); ok && s.isOver(tx, h, is) { // check again in this transaction
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

// isOver reports whether no capability can match a withdrawal any more: all have expired, or an object of this server is gone.
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
