// Package usercert has certificates of users, as OrangeFS's certificate-based security has them: an authority (Authority) verifies
// and issues them, and a client signs credentials with one (Certificate).
//
// Files and messages are those of OrangeFS. Who a user is, the subject of its certificate says (Subject); which user ID belongs to
// that is for others to find, as package ldapusers does.
package usercert
