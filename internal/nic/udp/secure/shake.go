package secure

import "github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"

// A shaker is one side of one handshake, of one mode. Each method is called at
// most once, except openResponse, which may be tried again after an error. clear
// is the part before the sealed part. Results are views of the shaker's memory or
// of the packet.
type shaker interface {
	// sealInit returns the whole INIT.
	sealInit(clear, payload []byte) (packet []byte, err error)
	openInit(packet []byte) (payload []byte, err error)
	// sealResponse returns the whole RESPONSE.
	sealResponse(clear, payload []byte) (packet []byte, s secrets, err error)
	openResponse(packet []byte) (payload []byte, s secrets, err error)
	// forget ends the handshake: only the secrets remain.
	forget()
}

// secrets are the results of a handshake. The keys that protect packets are derived from them.
type secrets struct {
	send, recv [keyBytes]byte
}

// plainShaker is the shaker without a key: it puts zeros and a checksum behind
// the payload.
type plainShaker struct{}

func (plainShaker) forget() {}

func (plainShaker) seal(clear, payload []byte, size int) []byte {
	packet := make([]byte, 0, size)
	packet = append(append(packet, clear...), payload...)
	packet = packet[:size-wire.SumLen]
	return wire.AppendSum(packet, wire.Sum(0, packet))
}

func (plainShaker) open(packet []byte, at, size int) ([]byte, error) {
	body, err := wire.CheckSum(packet)
	if err != nil {
		return nil, err
	}
	for _, b := range body[at+size:] {
		if b != 0 {
			return nil, ErrPayload
		}
	}
	return body[at : at+size], nil
}

func (p plainShaker) sealInit(clear, payload []byte) ([]byte, error) {
	return p.seal(clear, payload, wire.InitBytes), nil
}

func (p plainShaker) openInit(packet []byte) ([]byte, error) {
	return p.open(packet, wire.InitClear, wire.InitPayloadBytes)
}

func (p plainShaker) sealResponse(clear, payload []byte) ([]byte, secrets, error) {
	return p.seal(clear, payload, wire.ResponseBytes), secrets{}, nil
}

func (p plainShaker) openResponse(packet []byte) ([]byte, secrets, error) {
	payload, err := p.open(packet, wire.ResponseClear, wire.ResponsePayloadBytes)
	return payload, secrets{}, err
}
