// Package credential signs and verifies credentials as OrangeFS's key-based security does: a client signs with an RSA
// key (Key), and servers have the public keys of all clients (Keystore).
//
// Files and signatures are those of OrangeFS. Files made by its pvfs2-gen-keys.sh can be used. Signatures are RSA
// with SHA-1, PKCS #1 version 1.5 (src/common/security/pint-security.c).
package credential
