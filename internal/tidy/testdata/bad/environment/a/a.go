// Package a reads the environment.
package a

import (
	"os"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

const (
	good  = "VIADUCT_SHM_DIR"
	wrong = "VIADUCT_NOT_IN_THE_TABLE"
)

func read(name string) []string {
	home, _ := os.LookupEnv("HOME")
	return []string{
		home,
		environ.Getenv(good),
		environ.Getenv(name),
		os.Getenv(good),
		os.Getenv("MPI_METHOD"),
		os.Getenv(name),
		environ.Getenv(wrong),
		environ.Getenv("MPI_NOT_IN_THE_TABLE"),
	}
}
