package pvfsd

import (
	"context"
	"log/slog"
	"os"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/server"
)

// obey handles signals until ctx ends. SIGHUP reopens the log, and reads the configuration and the identities again. SIGUSR1 logs
// statistics.
func (o *serveOptions) obey(ctx context.Context, signals <-chan os.Signal, s *server.Server, log *slog.Logger, file *logFile) {
	for {
		select {
		case <-ctx.Done():
			file.info(log, "stopping")
			return
		case sig := <-signals:
			if sig == syscall.SIGUSR1 {
				log.Info("statistics", fieldsOf(s.Statistics())...)
				continue
			}
		}
		if err := file.reopen(); err != nil {
			log.Error("the log stays in its old file", "err", err)
		}
		if err := o.reload(s); err != nil {
			log.Error("the configuration was not read again, and all rules are as before", "err", err)
		} else {
			log.Info("the rules for clients were read again")
		}
	}
}

func (o *serveOptions) reload(s *server.Server) error {
	fs, err := o.read()
	if err != nil {
		return err
	}
	ids, err := o.identities()
	if err != nil {
		return err
	}
	return s.Reload(fs, ids)
}

// identities reads the file of -identities; nil without one.
func (o *serveOptions) identities() (*credential.Identities, error) {
	if o.idFile == "" {
		return nil, nil
	}
	return credential.ReadIdentities(o.idFile)
}
