package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// TestCardsAreReadable: the text of a card is shown to users, in errors and in the log.
func TestCardsAreReadable(t *testing.T) {
	card := core.Card{ID: core.ProcID{1}, Host: "näher", Addresses: []string{"tcp://[::1]:5", "mem://a b,=;!%"}}
	got, err := core.ParseCard(card.Encode())
	require.NoError(t, err)
	assert.Equal(t, card, got)
	for _, bad := range []string{"a\nb", "\x1b[2J", "\xff", "\u009b2J"} {
		_, err = core.ParseCard(core.Card{Host: bad}.Encode())
		assert.ErrorContains(t, err, "cannot be shown", "%q", bad)
		_, err = core.ParseCard(core.Card{Addresses: []string{"x", bad}}.Encode())
		assert.ErrorContains(t, err, "cannot be shown", "%q", bad)
	}
	_, err = core.ParseCard(core.Card{Addresses: make([]string, 65)}.Encode())
	assert.ErrorContains(t, err, "addresses")
}

// TestCardsHaveOneText: ParseCard accepts only what Encode writes, so a card does not become longer
// when it is passed on.
func TestCardsHaveOneText(t *testing.T) {
	id := core.ProcID{0xab}.String()
	for _, bad := range []string{
		strings.ToUpper(id) + ",host",
		id + ",%41",
		id + ",!41",
		id + ",a!2fb",
		id + ",a/b",
		id + "," + strings.Repeat("/", 2000), // three times as long after Encode
	} {
		_, err := core.ParseCard(bad)
		require.ErrorIs(t, err, errclass.Other, "%q", bad)
		require.ErrorContains(t, err, "another way", "%q", bad)
	}
}

// FuzzCard: an accepted card is written as it was read.
func FuzzCard(f *testing.F) {
	f.Add(core.Card{ID: core.ProcID{1}, Host: "näher", Addresses: []string{"tcp://[::1]:5", "mem://a b,=;!%"}}.Encode())
	f.Add(core.ProcID{}.String() + ",//")
	f.Add("nonsense")
	f.Fuzz(func(t *testing.T, text string) {
		card, err := core.ParseCard(text)
		if err != nil {
			require.ErrorIs(t, err, errclass.Other)
			return
		}
		require.Equal(t, text, card.Encode())
	})
}
