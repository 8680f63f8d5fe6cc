package bmi

import _ "github.com/viaduct-hpc/viaduct/methods/via" // tests may
