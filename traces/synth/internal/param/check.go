// Package param checks the parameters of generators.
package param

import "fmt"

// Check is one condition on a parameter.
type Check struct {
	ok       bool
	name     string
	value    any
	expected string
}

// That is the condition ok on a parameter: its name, the value it has, and what is
// expected of it.
func That(ok bool, name string, value any, expected string) Check {
	return Check{ok, name, value, expected}
}

// FirstWrong complains about the first condition that does not hold.
func FirstWrong(generator string, checks []Check) error {
	for _, c := range checks {
		if !c.ok {
			return fmt.Errorf("parameters of %s: %s is %v, expected %s", generator, c.name, c.value, c.expected)
		}
	}
	return nil
}
