package vipl

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Errors, one for each return code of the guide that a call here can return. Calls
// wrap them with details; compare with errors.Is.
var (
	// ErrNotDone is VIP_NOT_DONE: nothing has completed yet.
	ErrNotDone = errors.New("vipl: nothing has completed yet")
	// ErrInvalidParameter is VIP_INVALID_PARAMETER.
	ErrInvalidParameter = errors.New("vipl: invalid parameter")
	// ErrResource is VIP_ERROR_RESOURCE: a resource is used up or still in use.
	ErrResource = errors.New("vipl: resource used up or in use")
	// ErrTimeout is VIP_TIMEOUT.
	ErrTimeout = errors.New("vipl: timed out")
	// ErrReject is VIP_REJECT: the remote side refused to connect.
	ErrReject = errors.New("vipl: the remote side rejected the connection")
	// ErrInvalidReliability is VIP_INVALID_RELIABILITY_LEVEL.
	ErrInvalidReliability = errors.New("vipl: reliability levels do not fit together")
	// ErrInvalidMTU is VIP_INVALID_MTU.
	ErrInvalidMTU = errors.New("vipl: maximum transfer sizes do not fit together")
	// ErrInvalidPtag is VIP_INVALID_PTAG.
	ErrInvalidPtag = errors.New("vipl: no such protection tag")
	// ErrInvalidRDMARead is VIP_INVALID_RDMAREAD.
	ErrInvalidRDMARead = errors.New("vipl: the NIC has no RDMA read")
	// ErrDescriptor is VIP_DESCRIPTOR_ERROR: a descriptor came back with an
	// error; a DescriptorError says which.
	ErrDescriptor = errors.New("vipl: descriptor completed with an error")
	// ErrInvalidState is VIP_INVALID_STATE.
	ErrInvalidState = errors.New("vipl: not possible in the present state of the VI")
	// ErrNameService is VIP_ERROR_NAMESERVICE.
	ErrNameService = errors.New("vipl: name service failed")
	// ErrNoMatch is VIP_NO_MATCH: no consumer there waits for this discriminator.
	ErrNoMatch = errors.New("vipl: nobody at the remote side waits for this discriminator")
	// ErrNotReachable is VIP_NOT_REACHABLE.
	ErrNotReachable = errors.New("vipl: remote side is not reachable")
	// ErrNotSupported is VIP_ERROR_NOT_SUPPORTED.
	ErrNotSupported = errors.New("vipl: not supported by this NIC")

	// ErrAgain is the NIC's back-pressure: nothing was accepted, poll and try
	// again. The guide calls it VIP_ERROR_RESOURCE.
	ErrAgain = nic.ErrAgain
)

var statusNames = []struct {
	err  error
	name string
}{
	{ErrNotDone, "VIP_NOT_DONE"},
	{ErrInvalidParameter, "VIP_INVALID_PARAMETER"},
	{ErrTimeout, "VIP_TIMEOUT"},
	{nic.ErrTimeout, "VIP_TIMEOUT"},
	{ErrNoMatch, "VIP_NO_MATCH"},
	{ErrReject, "VIP_REJECT"},
	{ErrInvalidReliability, "VIP_INVALID_RELIABILITY_LEVEL"},
	{ErrInvalidMTU, "VIP_INVALID_MTU"},
	{ErrInvalidPtag, "VIP_INVALID_PTAG"},
	{ErrInvalidRDMARead, "VIP_INVALID_RDMAREAD"},
	{ErrDescriptor, "VIP_DESCRIPTOR_ERROR"},
	{ErrInvalidState, "VIP_INVALID_STATE"},
	{nic.ErrNotConnected, "VIP_INVALID_STATE"},
	{ErrNameService, "VIP_ERROR_NAMESERVICE"},
	{ErrNotReachable, "VIP_NOT_REACHABLE"},
	{nic.ErrUnreachable, "VIP_NOT_REACHABLE"},
	{ErrNotSupported, "VIP_ERROR_NOT_SUPPORTED"},
	{ErrResource, "VIP_ERROR_RESOURCE"},
	{nic.ErrAgain, "VIP_ERROR_RESOURCE"},
	{nic.ErrBusy, "VIP_ERROR_RESOURCE"},
}

// StatusName is the guide's name of the return code for an error: VIP_SUCCESS for
// nil, VIP_ERROR for errors without a code of their own.
func StatusName(err error) string {
	if err == nil {
		return "VIP_SUCCESS"
	}
	for _, s := range statusNames {
		if errors.Is(err, s.err) {
			return s.name
		}
	}
	return "VIP_ERROR"
}

// A DescriptorError says why a descriptor failed. It is an ErrDescriptor.
type DescriptorError struct {
	Status nic.Status
}

var statusTexts = [...]string{
	nic.StatusPending:         "still pending",
	nic.StatusSuccess:         "success",
	nic.StatusFlushed:         "flushed, the connection ended first",
	nic.StatusLengthError:     "length error, the message is longer than its receive or than the limit",
	nic.StatusProtectionError: "protection error, memory, tag and access do not fit together",
	nic.StatusRDMAError:       "RDMA protection error, the remote memory may not be accessed so",
	nic.StatusTransportError:  "transport error, the link failed or the remote side broke the rules",
	nic.StatusNoDescriptor:    "remote descriptor error, the remote side had no receive posted",
	nic.StatusFileError:       "file error, what was to be sent cannot be read",
}

func (e *DescriptorError) Error() string {
	if int(e.Status) < len(statusTexts) {
		return "vipl: descriptor: " + statusTexts[e.Status]
	}
	return fmt.Sprintf("vipl: descriptor: unknown status %d", e.Status)
}

// Unwrap makes every DescriptorError an ErrDescriptor.
func (e *DescriptorError) Unwrap() error { return ErrDescriptor }

// descriptorErrors are made once, so that a failed descriptor allocates nothing.
var descriptorErrors = func() (errs [256]*DescriptorError) {
	for i := range errs {
		errs[i] = &DescriptorError{Status: nic.Status(i)}
	}
	return errs
}()

var (
	errPostState = fmt.Errorf("%w: sends need a connected VI", ErrInvalidState)
	errCQQueue   = fmt.Errorf("%w: this queue completes through a completion queue", ErrInvalidState)
	errTakeFirst = fmt.Errorf("%w: connection events wait, take them with PollEvents", ErrInvalidState)
	errDestroyed = fmt.Errorf("%w: it was destroyed or its NIC closed", ErrInvalidState)
)

// wrapNIC adds the guide's code to an error of the provider, whose text stays.
func wrapNIC(err error) error {
	var reject *nic.RejectError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &reject):
		return rejectError(reject)
	case errors.Is(err, nic.ErrTimeout):
		return fault.Mark(err, ErrTimeout)
	case errors.Is(err, nic.ErrUnreachable):
		return fault.Mark(err, ErrNotReachable)
	}
	return err
}
