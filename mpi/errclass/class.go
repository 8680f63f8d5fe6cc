package errclass

//go:generate go tool stringer -type=Class -linecomment -output=class_string.go

// A Class is an MPI error class (MPI-4.1, 9.4). It is itself an error, so errors.Is(err,
// errclass.Truncate) tells whether err has that class.
type Class int

// The classes of the standard, those of files (MPI-4.1, 14.7), and those of user-level failure
// mitigation (ULFM).
const (
	Success              Class = iota // MPI_SUCCESS
	Buffer                            // MPI_ERR_BUFFER
	Count                             // MPI_ERR_COUNT
	Type                              // MPI_ERR_TYPE
	Tag                               // MPI_ERR_TAG
	Comm                              // MPI_ERR_COMM
	Rank                              // MPI_ERR_RANK
	Request                           // MPI_ERR_REQUEST
	Root                              // MPI_ERR_ROOT
	Group                             // MPI_ERR_GROUP
	Op                                // MPI_ERR_OP
	Topology                          // MPI_ERR_TOPOLOGY
	Dims                              // MPI_ERR_DIMS
	Arg                               // MPI_ERR_ARG
	Unknown                           // MPI_ERR_UNKNOWN
	Truncate                          // MPI_ERR_TRUNCATE
	Other                             // MPI_ERR_OTHER
	Intern                            // MPI_ERR_INTERN
	Pending                           // MPI_ERR_PENDING
	InStatus                          // MPI_ERR_IN_STATUS
	NoMem                             // MPI_ERR_NO_MEM
	Keyval                            // MPI_ERR_KEYVAL
	Info                              // MPI_ERR_INFO
	InfoKey                           // MPI_ERR_INFO_KEY
	InfoNoKey                         // MPI_ERR_INFO_NOKEY
	InfoValue                         // MPI_ERR_INFO_VALUE
	Name                              // MPI_ERR_NAME
	Port                              // MPI_ERR_PORT
	Service                           // MPI_ERR_SERVICE
	Spawn                             // MPI_ERR_SPAWN
	UnsupportedOperation              // MPI_ERR_UNSUPPORTED_OPERATION
	Session                           // MPI_ERR_SESSION
	ProcAborted                       // MPI_ERR_PROC_ABORTED
	ValueTooLarge                     // MPI_ERR_VALUE_TOO_LARGE
	File                              // MPI_ERR_FILE
	NotSame                           // MPI_ERR_NOT_SAME
	Amode                             // MPI_ERR_AMODE
	UnsupportedDatarep                // MPI_ERR_UNSUPPORTED_DATAREP
	NoSuchFile                        // MPI_ERR_NO_SUCH_FILE
	FileExists                        // MPI_ERR_FILE_EXISTS
	BadFile                           // MPI_ERR_BAD_FILE
	Access                            // MPI_ERR_ACCESS
	NoSpace                           // MPI_ERR_NO_SPACE
	Quota                             // MPI_ERR_QUOTA
	ReadOnly                          // MPI_ERR_READ_ONLY
	FileInUse                         // MPI_ERR_FILE_IN_USE
	DupDatarep                        // MPI_ERR_DUP_DATAREP
	Conversion                        // MPI_ERR_CONVERSION
	IO                                // MPI_ERR_IO
	Win                               // MPI_ERR_WIN
	Base                              // MPI_ERR_BASE
	Size                              // MPI_ERR_SIZE
	Disp                              // MPI_ERR_DISP
	Locktype                          // MPI_ERR_LOCKTYPE
	Assert                            // MPI_ERR_ASSERT
	RMAConflict                       // MPI_ERR_RMA_CONFLICT
	RMASync                           // MPI_ERR_RMA_SYNC
	RMARange                          // MPI_ERR_RMA_RANGE
	RMAAttach                         // MPI_ERR_RMA_ATTACH
	RMAShared                         // MPI_ERR_RMA_SHARED
	RMAFlavor                         // MPI_ERR_RMA_FLAVOR
	ProcFailed                        // MPIX_ERR_PROC_FAILED
	ProcFailedPending                 // MPIX_ERR_PROC_FAILED_PENDING
	Revoked                           // MPIX_ERR_REVOKED
)

// Error implements error.
func (c Class) Error() string { return c.String() }
