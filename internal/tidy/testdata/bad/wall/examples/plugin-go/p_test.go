package main

import (
	_ "github.com/viaduct-hpc/viaduct/internal/need"
	_ "github.com/viaduct-hpc/viaduct/plugins"
)
