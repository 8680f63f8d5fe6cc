package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestNotesOfNames: the number of notes is limited, the oldest is dropped first, and all expire.
func TestNotesOfNames(t *testing.T) {
	var n named
	now := time.Unix(1000, 0)
	of := func(i int) proto.NameChange {
		return proto.NameChange{Object: proto.Handle(i), Dir: proto.Handle(i + 1), User: 5}
	}
	require.Zero(t, n.dir(of(1), now))
	for i := 1; i <= namedMax; i++ {
		n.add(of(i), now)
	}
	n.add(of(1), now) // it keeps its age
	require.EqualValues(t, 2, n.dir(of(1), now))
	n.add(of(namedMax+1), now)
	require.Zero(t, n.dir(of(1), now))
	require.EqualValues(t, 3, n.dir(of(2), now))
	require.Len(t, n.notes, namedMax)
	require.Zero(t, n.dir(proto.NameChange{Object: 2, User: 6}, now), "another user's")
	n.drop(of(2))
	require.Zero(t, n.dir(of(2), now))
	require.EqualValues(t, 4, n.dir(of(3), now.Add(namedFor)))
	require.Zero(t, n.dir(of(3), now.Add(namedFor+1)))
}
