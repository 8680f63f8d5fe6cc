package bmi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// TestRemoteAccessNotOffered: a method that says nothing of remote access is not asked.
func TestRemoteAccessNotOffered(t *testing.T) {
	s := (&fake{}).open(t, bmi.Config{Manual: true})
	require.False(t, s.ep.RemoteAccess(s.peer))
	_, err := s.ep.Expose(s.peer, make([]byte, 8))
	require.ErrorIs(t, err, bmi.ErrNotSupported)
	require.ErrorIs(t, s.ep.RemoteWrite(s.peer, bmi.RemoteKey{}, 0, make([]byte, 8)), bmi.ErrNotSupported)
	require.ErrorIs(t, s.ep.RemoteRead(s.peer, bmi.RemoteKey{}, 0, make([]byte, 8)), bmi.ErrNotSupported)
	require.False(t, s.ep.RemoteAccess(bmi.Addr{}))
	_, err = s.ep.Expose(bmi.Addr{}, make([]byte, 8))
	require.Error(t, err)
}
