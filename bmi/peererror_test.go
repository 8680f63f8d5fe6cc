package bmi

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPeerError: the text says each thing once, and the error is of its kind and of its reason.
func TestPeerError(t *testing.T) {
	for _, c := range []struct {
		kind error
		why  error
		want string
	}{
		{ErrUnreachable, nil, "bmi: nobody answers at tcp://here:1, check the address and that the other side runs"},
		{ErrUnreachable, io.EOF, "bmi: nobody answers at tcp://here:1, check the address and that the other side runs: EOF"},
		{ErrUnreachable, fmt.Errorf("here:1: %w", io.EOF), "bmi: nobody answers at tcp://here:1, check the address and that the other side runs: EOF"},
		{ErrRefused, io.EOF, "bmi: the connection to tcp://here:1 was refused: EOF"},
		{ErrDropped, io.EOF, "bmi: address was dropped, look it up again: tcp://here:1: EOF"},
	} {
		err := PeerError(c.kind, "tcp://here:1", c.why)
		named, ok := NamedPeer(fmt.Errorf("around it: %w", err))
		assert.True(t, ok)
		assert.Equal(t, "tcp://here:1", named)
		assert.EqualError(t, err, c.want)
		assert.ErrorIs(t, err, c.kind)
		assert.Equal(t, c.why != nil, errors.Is(err, io.EOF))
	}
	err := TakenError("tcp://here:1", io.EOF)
	assert.ErrorIs(t, err, ErrNameTaken)
	assert.ErrorIs(t, err, io.EOF)
}
