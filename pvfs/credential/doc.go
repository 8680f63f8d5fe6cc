// Package credential signs and verifies credentials like OrangeFS's key-based security: a client signs with an RSA key (Key), and
// servers have the public keys of all clients (Keystore).
//
// Files and signatures have the formats of OrangeFS. Files made by its pvfs2-gen-keys.sh work here. Signatures are RSA with
// SHA-1, PKCS #1 version 1.5 (src/common/security/pint-security.c).
package credential
