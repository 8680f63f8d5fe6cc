package via

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/via/flow"
	"github.com/viaduct-hpc/viaduct/internal/via/ops"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
)

// Limits of an endpoint; those of its operations are in package ops.
const (
	// CreditsPerPeer is the number of receives that are posted for each
	// connected peer, unless the device's queues are shorter.
	CreditsPerPeer = 96

	// closeSpinPolls is how many fruitless Polls Close makes before it sleeps.
	closeSpinPolls = 100
)

// Times. The peer machine gets them as its configuration.
const (
	ConnectTimeout  = 5 * time.Second
	ConnectRetryMin = 2 * time.Millisecond
	ConnectRetryMax = 250 * time.Millisecond
	// CloseDrainMax bounds how long Close waits for sends under way.
	CloseDrainMax = 2 * time.Second
)

// A peer has credits for all packets of an eager message.
var (
	_ [CreditsPerPeer - ops.EagerPacketsMax - flow.CreditReserve - flow.ControlReserve]struct{}
	_ [wire.CreditsMax - CreditsPerPeer]struct{}
)
