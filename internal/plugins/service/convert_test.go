//go:build linux

package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// TestStatusNumbers: the numbers are the same in the rings and in the control service.
func TestStatusNumbers(t *testing.T) {
	for s, want := range map[wire.Status]proto.Status{
		wire.StatusOK: proto.Status_OK, wire.StatusTruncated: proto.Status_TRUNCATED, wire.StatusCancelled: proto.Status_CANCELLED,
		wire.StatusPeerFailed: proto.Status_PEER_FAILED, wire.StatusUnreachable: proto.Status_UNREACHABLE,
		wire.StatusRefused: proto.Status_REFUSED, wire.StatusVersion: proto.Status_VERSION, wire.StatusProtocol: proto.Status_PROTOCOL,
		wire.StatusDropped: proto.Status_DROPPED, wire.StatusClosed: proto.Status_CLOSED, wire.StatusTooLarge: proto.Status_TOO_LARGE,
		wire.StatusBadAddress: proto.Status_BAD_ADDRESS, wire.StatusNameTaken: proto.Status_NAME_TAKEN,
		wire.StatusNotSupported: proto.Status_NOT_SUPPORTED, wire.StatusInvalid: proto.Status_INVALID, wire.StatusOther: proto.Status_OTHER,
	} {
		assert.EqualValues(t, want, s, want.String())
	}
	assert.Len(t, proto.Status_name, int(wire.StatusOther)+1)
}

// TestKindNumbers: the kinds of records have the same numbers in both formats.
func TestKindNumbers(t *testing.T) {
	same := map[wire.Kind]proto.Kind{
		wire.KindSend: proto.Kind_SEND, wire.KindSendUnexpected: proto.Kind_SEND_UNEXPECTED, wire.KindRecv: proto.Kind_RECV,
		wire.KindCancel: proto.Kind_CANCEL, wire.KindPeer: proto.Kind_PEER, wire.KindDrop: proto.Kind_DROP,
		wire.KindHold: proto.Kind_HOLD, wire.KindGoOn: proto.Kind_GO_ON, wire.KindDone: proto.Kind_DONE,
		wire.KindArrived: proto.Kind_ARRIVED, wire.KindStranger: proto.Kind_STRANGER,
	}
	for k, want := range same {
		assert.EqualValues(t, want, k, want.String())
	}
	assert.Len(t, proto.Kind_name, len(same)+2, "only NONE and ATTACH are not in the rings")
}

// TestFailures: an error of package bmi is the same one on the other side.
func TestFailures(t *testing.T) {
	assert.Nil(t, failureOf(nil))
	f := failureOf(fmt.Errorf("%w: nobody there", bmi.ErrUnreachable))
	err := wire.Status(f.Status).Err(f.Text)
	require.ErrorIs(t, err, bmi.ErrUnreachable)
	assert.Contains(t, err.Error(), "nobody there")
	assert.Equal(t, proto.Status_OTHER, failureOf(context.Canceled).Status)

	f = failureOf(errors.New(strings.Repeat("é", wire.TextMax)[1:]))
	assert.LessOrEqual(t, len(f.Text), wire.TextMax+4)
	assert.True(t, utf8.ValidString(f.Text), "gRPC sends nothing else")
}
