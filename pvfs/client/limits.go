package client

import "time"

// Limits of caches. Beyond them, data is requested or made again.
const (
	// usersKeptMax is how many users are cached, the last ones used. A user takes some hundreds of bytes, and is made without a
	// request.
	usersKeptMax = 4096
	// grantsKeptMax is how many capabilities of one object are cached, for as many users.
	grantsKeptMax = 256
	// lentKeptBytesMax and lentKeptMax limit the unused memory of the lender, in bytes and in pieces. lentKeptTime is how long it
	// is kept. This is enough for eight files of 12 MiB each that are copied at the same time.
	lentKeptBytesMax = 128 << 20
	lentKeptMax      = 64
	lentKeptTime     = 10 * time.Second
)

// Limits of one operation.
const (
	// loopsMax is how many symlinks one path may have.
	loopsMax = 40
	// openTries is how often a file may appear and vanish while it is opened.
	openTries = 4
	// flowsMax is how many datafiles one I/O works on at once.
	flowsMax = 128
)

// Lifetimes.
const (
	// credentialTime is how long a credential is valid, as for stock clients. It is renewed after half of that.
	credentialTime = time.Hour
	// grantMargin is how long before its expiry a capability is renewed.
	grantMargin = 30 * time.Second
)
