// Package tests has only tests.
package tests
