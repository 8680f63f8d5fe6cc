package matchbits

import "os" // tests may

var _ = os.Args
