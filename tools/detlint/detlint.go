// Command detlint holds the rules for the code of this repository and checks them
// in an ordinary go test: what may decide and what may not (determinism), which
// package may import which (import rules), which file of a long package may use which
// (layers), how long a file or function grows (size), how many files of a package may share
// a prefix, which names and words of comments are retired (words), that a comment names what
// it documents, and that every dependency is accounted for. Each rule carries its reason;
// docs/DETERMINISM.md is printed from the same tables. It knows names and shapes of code
// only, nothing of what the code computes.
//
//	go test ./tools/detlint                                    # all rules
//	go run ./tools/detlint -layers                             # the layers of all packages that have some
//	go run ./tools/detlint -layers ./scheduler/site ./sim/world
//	go run ./tools/detlint -layers -suggest ./sim/watch        # an order with fewer upward arrows, as a row of the table
//	go run ./tools/detlint -layers -chain Core.Plan ./scheduler/site
//
// The exit code is 0, 1 when the code could not be read, 2 when the arguments are wrong, and
// 4 when a package breaks the rule of layers.
//
// A finding that is no danger is silenced where it stands, on the same line or
// the line above, by the word of its rule and a reason:
//
//	//detlint:ordered the sum does not depend on the order
//	for _, n := range counts {
//
// A word without a reason, an unknown word and a word that silences nothing
// are findings themselves, so the exceptions stay few and true.
package main

import (
	"fmt"
	"go/token"
)

// Finding is one place that breaks a rule.
type Finding struct {
	Pos  token.Position
	Rule string
	What string // what was found and how to mend it
}

// String is file:line: [rule] what, the form that editors jump to; findings
// about a whole file or package have no line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: [%s] %s", f.Pos, f.Rule, f.What)
}
