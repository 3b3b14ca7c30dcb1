package slurm

import (
	"errors"
	"fmt"

	"orrery/profiles"
	"orrery/traces/hostlist"
)

// maxNames bounds the names that all options of all files list together.
const maxNames = 4 * profiles.MaxNodes

// expand lists the names of a host list like n[001-087,90],m1.
func (c *converter) expand(list string) ([]string, error) {
	var out []string
	for _, term := range hostlist.Terms(list, ",") {
		names, err := hostlist.Expand(term, min(profiles.MaxNodes, maxNames-c.named))
		if errors.Is(err, hostlist.ErrMany) {
			err = fmt.Errorf("more than %d names, or too many in all", profiles.MaxNodes)
		}
		if err != nil {
			return nil, fmt.Errorf("found the names %q: %w", term, err)
		}
		c.named += len(names)
		out = append(out, names...)
	}
	return out, nil
}
