package pmi

import (
	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// SecretBytes is the length of a job's secret key.
const SecretBytes = sharedkey.Bytes

// Secret returns the key of the job from the environment, or nil. It is never printed.
func Secret(getenv func(string) string) ([]byte, error) {
	source := sharedkey.Source{Text: getenv(KeyEnv), File: getenv(KeyFileEnv)}
	where := KeyEnv
	switch {
	case source == sharedkey.Source{}:
		return nil, nil
	case source.Text != "":
		source.File = "" // launchers of ours set the variable, and users the file
	default:
		where = KeyFileEnv
	}
	key, err := source.Load()
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "the key of the job, in %s", where)
	}
	return key[:], nil
}
