// Package top is what bmi top and pvfs top have in common: their options, and whether views go to a terminal, into a table, as JSON, or
// to a page.
package top
