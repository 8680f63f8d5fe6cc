package usercert

import (
	"crypto/x509"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// PublicOf reads the public half of an RSAPrivateKey.
var PublicOf = publicOf

// PrivateForm is a key in PEM as stock clients send it.
func PrivateForm(text []byte) ([]byte, error) {
	key, err := credential.ParseKey(text)
	if err != nil {
		return nil, err
	}
	return x509.MarshalPKCS1PrivateKey(key.RSA()), nil
}
