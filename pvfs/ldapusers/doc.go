// Package ldapusers finds the user of a certificate in an LDAP directory, and checks its password there, as OrangeFS's servers do.
// What fs.conf says in <LDAP> holds (config.LDAP).
package ldapusers
