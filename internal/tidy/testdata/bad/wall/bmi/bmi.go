// Package bmi is published.
package bmi

const A = 1
