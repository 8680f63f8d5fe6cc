// Package sayonce finds what a message says twice, for tests of the messages that users get. No shipped code imports it.
package sayonce

import (
	"regexp"
	"strings"
)

// same are groups of phrases for one fact.
var same = [][]string{
	{"nobody answers", "nobody listens", "not reachable", "unreachable"},
	{"name is taken", "address in use", "already in use", "listens at", "have it open", "has it open"},
	{"refused the connection", "was refused", "both sides need the same shared key"},
	{"no such file", "does not exist", "not found"},
}

var clauseEnd = regexp.MustCompile(`[:;,] |\n`)

// clauseBytesMin is the length from which a repeated clause is no accident.
const clauseBytesMin = 8

// Repeats returns a clause, a package's name or a fact that a message repeats; "" if there is none.
func Repeats(message string) string {
	seen := map[string]bool{}
	for _, clause := range clauseEnd.Split(message, -1) {
		clause = strings.TrimSpace(clause)
		packageName := clause != "" && !strings.ContainsAny(clause, " /")
		if seen[clause] && (packageName || len(clause) >= clauseBytesMin) {
			return clause
		}
		seen[clause] = true
	}
	for _, group := range same {
		said := ""
		for _, phrase := range group {
			n := strings.Count(message, phrase)
			if n > 1 || n == 1 && said != "" {
				return phrase
			}
			if n == 1 {
				said = phrase
			}
		}
	}
	return ""
}
