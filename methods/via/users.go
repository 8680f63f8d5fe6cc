package via

import (
	"fmt"
	"log/slog"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/seldom"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// shared is the driver over a provider whose NICs can be opened to all users of the machine.
type shared struct{ driver }

var _ bmi.UserOpener = shared{}

// WithOtherUsers implements bmi.UserOpener.
func (d shared) WithOtherUsers(o any) (any, error) {
	opts, err := options(o)
	opts.OtherUsers = true
	return opts, err
}

// withUsers is the provider with the users of Options.
func withUsers(p nic.Provider, opts *Options) (nic.Provider, error) {
	if m, ok := p.(nic.MultiUser); ok {
		return m.WithUsers(nic.Users{Others: opts.OtherUsers, Trust: opts.TrustUsers}), nil
	}
	if opts.OtherUsers || len(opts.TrustUsers) > 0 {
		return nil, fmt.Errorf("%w: Options.OtherUsers or TrustUsers is set, and the %s NIC knows no users", bmi.ErrInvalid, p.Name())
	}
	return p, nil
}

// quiet limits the rate of the log if other users may connect: they could fill it.
func quiet(p nic.Provider, cfg *bmi.MethodConfig) {
	if _, ok := p.(nic.MultiUser); ok && cfg.Log != nil && cfg.Clock != nil {
		cfg.Log = slog.New(seldom.Handler(cfg.Log.Handler(), slog.LevelWarn, cfg.Clock))
	}
}

// note records the user that runs the sender of a connect request.
func (r *remote) note(req *link.Request) {
	if req.User != nil {
		r.user.Store(&bmi.User{UID: req.User.UID, Groups: req.User.Groups})
	}
	r.otherUser = req.OtherUser
}

// LocalUser is the user who runs a peer that connected to this endpoint (bmi.UserTeller).
func (m *method) LocalUser(p bmi.Peer) *bmi.User { return p.(*remote).user.Load() }

// earlyLimits bound the messages of a peer that wait for their receive.
func (r *remote) earlyLimits() (bytes, messages int) {
	if r.otherUser {
		return EarlyBytesMaxOtherUser, EarlyMessagesMaxOtherUser
	}
	return EarlyBytesMaxPerPeer, EarlyMessagesMaxPerPeer
}
