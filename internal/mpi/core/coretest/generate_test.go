package coretest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNobodyWaitsInVain: in a program that may cancel sends, no receive relies on an earlier probe,
// because the message may be gone.
func TestNobodyWaitsInVain(t *testing.T) {
	seen := make(map[Verb]bool)
	for seed := range uint64(200) {
		verbs := make(map[Verb]bool)
		for _, actions := range Generate(seed, Shape{RanksMax: 4, ActionsMax: 300, SizeMax: 100}).Ranks {
			for _, a := range actions {
				verbs[a.Verb], seen[a.Verb] = true, true
			}
		}
		require.False(t, verbs[Iprobe] && verbs[CancelSend], "seed %d", seed)
	}
	require.True(t, seen[Iprobe] && seen[CancelSend] && seen[Improbe])
}
