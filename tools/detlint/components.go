package main

import "slices"

// graph is a directed graph of nodes 0 to n-1: to[i] lists where i has arrows to.
type graph struct{ to [][]int }

// components lists the strongly connected components, each after all those that it has
// arrows to (Tarjan, "Depth-first search and linear graph algorithms", 1972).
func (g graph) components() [][]int {
	n := len(g.to)
	index, low, onStack := make([]int, n), make([]int, n), make([]bool, n)
	var stack []int
	var out [][]int
	next := 0
	var visit func(v int)
	visit = func(v int) {
		next++
		index[v], low[v], onStack[v] = next, next, true
		stack = append(stack, v)
		for _, w := range g.to[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if onStack[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		members := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, w := range members {
			onStack[w] = false
		}
		slices.Sort(members)
		out = append(out, members)
	}
	for v := range n {
		if index[v] == 0 {
			visit(v)
		}
	}
	return out
}

// longest is the longest chain of components from that of a node.
func (g graph) longest(from int) (chain [][]int) {
	components := g.components()
	of := make([]int, len(g.to))
	for c, members := range components {
		for _, v := range members {
			of[v] = c
		}
	}
	length, next := make([]int, len(components)), make([]int, len(components))
	for c, members := range components { // those below come before it
		length[c], next[c] = 1, -1
		for _, v := range members {
			for _, w := range g.to[v] {
				if d := of[w]; d != c && length[d]+1 > length[c] {
					length[c], next[c] = length[d]+1, d
				}
			}
		}
	}
	for c := of[from]; c >= 0; c = next[c] {
		chain = append(chain, components[c])
	}
	return chain
}
