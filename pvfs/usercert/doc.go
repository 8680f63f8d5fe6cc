// Package usercert has certificates of users for OrangeFS's certificate-based security. An authority (Authority) verifies and
// issues them, and a client signs credentials with one (Certificate).
//
// Files and messages have the formats of OrangeFS. The subject of a certificate names its user (Subject). Other packages, such as
// ldapusers, find the user ID of a subject.
package usercert
