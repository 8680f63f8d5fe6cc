package via

import (
	"fmt"
	"log/slog"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/seldom"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

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
