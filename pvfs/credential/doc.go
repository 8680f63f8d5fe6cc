// Package credential proves for whom a client of a file system speaks, as OrangeFS's key-based security does: a client
// signs its credentials with an RSA key (Key), and servers have the public keys of all clients (Keystore).
//
// The files are those of OrangeFS: what pvfs2-gen-keys.sh makes can be used as it is. So is what is signed, and how:
// RSA as in PKCS #1 version 1.5, with SHA-1 (src/common/security/pint-security.c).
package credential
