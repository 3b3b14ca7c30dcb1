package tune

import "fmt"

// manyIdle is from how many settings on, of one vCluster, that a change leaves without
// effect they are told in one row.
const manyIdle = 3

// ChangesInShort are the settings that change, with those of a vCluster that no longer
// apply counted in one line: of an order they are its dozen weights.
func (r *Report) ChangesInShort() []SettingChange {
	idle, order, backfill := map[string]int{}, map[string]string{}, map[string]bool{}
	for _, c := range r.Changes {
		switch {
		case c.After == "":
			idle[c.VCluster]++
		case c.Key == "order":
			order[c.VCluster] = c.Before
		case c.Key == "backfill":
			backfill[c.VCluster] = true
		}
	}
	var out []SettingChange
	for i, c := range r.Changes {
		n := idle[c.VCluster]
		if c.After != "" || n < manyIdle {
			out = append(out, c)
		}
		if n < manyIdle || i+1 < len(r.Changes) && r.Changes[i+1].VCluster == c.VCluster {
			continue
		}
		key := fmt.Sprintf("and %d settings", n)
		if before := order[c.VCluster]; before != "" && !backfill[c.VCluster] {
			key += " of " + before
		}
		out = append(out, SettingChange{VCluster: c.VCluster, Key: key, After: "no longer apply"})
	}
	return out
}
