package client

import "time"

// Limits of what is kept for later. What is over is asked for or made again.
const (
	// usersKeptMax is how many users are kept, those used last. A user is some hundreds of bytes and costs no request.
	usersKeptMax = 4096
	// grantsKeptMax is how many capabilities are kept of one object, for as many users.
	grantsKeptMax = 256
	// lentKeptBytesMax and lentKeptMax bound the memory to read into that nobody uses, bytes and pieces; lentKeptTime is how long
	// it is kept. It is enough for eight files that are copied at a time, of 12 MiB each.
	lentKeptBytesMax = 128 << 20
	lentKeptMax      = 64
	lentKeptTime     = 10 * time.Second
)

// Limits of one operation.
const (
	// loopsMax is how many symlinks one path may lead through.
	loopsMax = 40
	// openTries is how often a file may come and go while it is opened.
	openTries = 4
	// flowsMax is how many datafiles one I/O works on at once.
	flowsMax = 128
)

// Times of what expires.
const (
	// credentialTime is how long a credential is good, as stock clients have it. It is renewed when half of that is
	// over.
	credentialTime = time.Hour
	// grantMargin is how long before its end a capability is renewed.
	grantMargin = 30 * time.Second
)
