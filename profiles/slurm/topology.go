package slurm

import (
	"slices"
	"strings"
)

// leaf is a switch, or a block, with nodes below it.
type leaf struct {
	name  string
	nodes []string
}

// topology reads topology.conf of the plugins tree and block: every switch with
// nodes is a group, and groups are adjacent that have the same switch above.
func (c *converter) topology(lines []line) error {
	for _, l := range lines {
		first := l.pairs[0]
		switch {
		case first.is("SwitchName"), first.is("BlockName"):
			if err := c.switchLine(l); err != nil {
				return err
			}
		case first.is("BlockSizes"):
			c.approximated(first, "blocks are groups, and those of larger blocks are not kept together")
		default:
			for _, p := range l.pairs {
				c.ignored(p, "an option of topologies that this converter does not know")
			}
		}
	}
	return nil
}

func (c *converter) switchLine(l line) error {
	name := l.pairs[0].value
	if strings.ContainsAny(name, "[],") || name == "" {
		return c.errorf(l.number, "%s=%s: want the name of one switch", l.pairs[0].key, name)
	}
	c.understood(l.pairs[0])
	for _, p := range l.pairs[1:] {
		list, err := c.expand(p.value)
		switch {
		case p.is("Nodes") || p.is("Switches"):
			if err != nil {
				return c.errorf(p.line, "%w", err)
			}
			c.understood(p)
		default:
			c.ignored(p, "speeds of links are not modelled")
			continue
		}
		if p.is("Nodes") {
			c.leaves = append(c.leaves, leaf{name, list})
			continue
		}
		for _, below := range list {
			c.parents[below] = name
		}
	}
	return nil
}

// leafOf is the group of each node. A group may not have the name of a node or
// a word that stands for all.
func (c *converter) leafOf() map[string]string {
	out := map[string]string{}
	for _, l := range c.leaves {
		group := c.groupName(l.name)
		for _, n := range l.nodes {
			if _, there := c.index[n]; !there {
				c.notes.add(Note{File: c.file, Key: "SwitchName", Value: l.name, Verdict: Ignored, Text: "nodes of the switch that no NodeName has"})
				continue
			}
			if _, twice := out[n]; twice {
				c.notes.add(Note{File: c.file, Key: "SwitchName", Value: l.name, Verdict: Approximated, Text: "nodes of several switches are in the group of the first"})
				continue
			}
			out[n] = group
		}
	}
	rest := c.groupName("nodes")
	for _, n := range c.nodes {
		if _, ok := out[n.name]; !ok {
			out[n.name] = rest
		}
	}
	return out
}

func (c *converter) groupName(name string) string {
	_, isNode := c.index[name]
	if isNode || name == "all" || strings.Trim(name, "0123456789") == "" {
		return c.groupName("switch-" + name)
	}
	return name
}

// adjacent lists for each group the others under the same switch, once.
func (c *converter) adjacent() {
	if len(c.leaves) == 0 {
		return
	}
	above := map[string]string{}
	parents := 0
	for _, l := range c.leaves {
		p := c.parents[l.name]
		if !slices.ContainsFunc(c.leaves, func(o leaf) bool { return above[c.groupName(o.name)] == p }) || p == "" {
			parents++
		}
		above[c.groupName(l.name)] = p
	}
	if parents <= 1 {
		return // all to all
	}
	c.cluster.Topology = "listed"
	done := map[string]bool{}
	for i := range c.cluster.Groups {
		g := &c.cluster.Groups[i]
		if done[g.Name] || above[g.Name] == "" {
			continue
		}
		done[g.Name] = true
		for j := range c.cluster.Groups {
			other := c.cluster.Groups[j].Name
			if other != g.Name && above[other] == above[g.Name] && !slices.Contains(g.Adjacent, other) {
				g.Adjacent = append(g.Adjacent, other)
			}
		}
	}
}
