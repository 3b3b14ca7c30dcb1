package scaling

import (
	"fmt"

	"orrery/autoscale"
)

// wanted says what a proposal asks for, at a size.
func wanted(p *autoscale.Proposal, size int64) string {
	switch p.Verb {
	case autoscale.Scale:
		return fmt.Sprintf("%d to %d", size, size+p.N)
	case autoscale.SetReplicas:
		return fmt.Sprintf("%d to %d", size, p.N)
	case autoscale.AddNode:
		return "add a replica"
	case autoscale.Migrate:
		return fmt.Sprintf("session %d to replica %d", p.Entity, p.N)
	case autoscale.Drain:
		return fmt.Sprintf("drain replica %d", p.Entity)
	}
	return ""
}
