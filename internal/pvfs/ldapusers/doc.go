// Package ldapusers finds the user of a certificate in an LDAP directory, and checks the user's password there, as OrangeFS's
// servers do. It is configured by <LDAP> in fs.conf (config.LDAP).
package ldapusers
