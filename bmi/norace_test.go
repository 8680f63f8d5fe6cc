//go:build !race

package bmi_test

const underRace = false
