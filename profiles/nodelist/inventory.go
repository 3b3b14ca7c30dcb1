package nodelist

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orrery/capture"
	"orrery/traces"
)

// What an agent has recorded of nodes (docs/CAPTURE.md): memory of the GPUs, the limit of their
// power where it was set below what they are sold with, and their NVLinks. Instances of MIG are
// noted and not written: jobs get whole GPUs.

// Inventories adds to the nodes of a bundle what its events say of them, the last of each node.
func (l *List) Inventories(events []traces.Event) error {
	list, err := capture.Inventories(events)
	if err != nil || len(list) == 0 {
		return err
	}
	last := map[string]*capture.Inventory{}
	for _, r := range list {
		last[r.Node] = r.Inventory
	}
	split, other := 0, 0
	drivers := map[string]int{}
	for i := range l.Nodes {
		n := &l.Nodes[i]
		v := last[n.Name]
		if v == nil {
			other++
			continue
		}
		n.inventory(v)
		drivers[v.Value(capture.FactDriver)]++
		for _, g := range v.GPUs {
			if v.OfGPU(g.Index, "mig") == "on" {
				split++
			}
		}
	}
	l.evenLimits()
	l.noted(split, other, drivers)
	return nil
}

// evenLimits leaves limits out of GPUs that have different ones: a cluster file has one limit
// for all GPUs of a name.
func (l *List) evenLimits() {
	limits := map[string]map[int64]bool{}
	for _, n := range l.Nodes {
		if n.GPUs > 0 {
			if limits[n.GPU] == nil {
				limits[n.GPU] = map[int64]bool{}
			}
			limits[n.GPU][n.Limit] = true
		}
	}
	for _, gpu := range slices.Sorted(maps.Keys(limits)) {
		if len(limits[gpu]) == 1 {
			continue
		}
		l.note(fmt.Sprintf("power limits of %s differ between nodes (%v W, 0 as sold), and are left out: give such GPUs names of their own", gpu, slices.Sorted(maps.Keys(limits[gpu]))))
		for i := range l.Nodes {
			if l.Nodes[i].GPU == gpu {
				l.Nodes[i].Limit = 0
			}
		}
	}
}

func (l *List) noted(split, other int, drivers map[string]int) {
	if split > 0 {
		l.note(fmt.Sprintf("MIG is on in %d GPUs: the file has whole GPUs, and no instances", split))
	}
	if other > 0 {
		l.note(fmt.Sprintf("%d nodes have no record of their inventory", other))
	}
	if len(drivers) > 1 {
		var all []string
		for _, d := range slices.Sorted(maps.Keys(drivers)) {
			all = append(all, fmt.Sprintf("%s on %d nodes", d, drivers[d]))
		}
		l.note("drivers differ: " + strings.Join(all, ", "))
	}
	l.note("memory, power limits and NVLinks of GPUs are those of the inventories; a limit stands in the file where it is below the one that the GPU is sold with")
}

// inventory takes what is known of the GPUs of a node.
func (n *Node) inventory(v *capture.Inventory) {
	if len(v.GPUs) == 0 {
		return
	}
	n.GPUMemory = v.GPUs[0].Memory
	limit, sold := int64(0), int64(0)
	for _, g := range v.GPUs { // the lowest holds for the node, as its type has one
		now, known := watts(v, g.Index, "power.limit_w")
		if usual, ok := watts(v, g.Index, "power.default_w"); known && ok && now < usual && (limit == 0 || now < limit) {
			limit, sold = now, usual
		}
	}
	if sold > 0 {
		n.Limit = limit
	}
	if joined := nvlinks(v); joined != nil {
		n.Joined = &Links{GPUs: int64(len(v.GPUs)), Topology: topologyOf(joined)}
	}
}

func watts(v *capture.Inventory, gpu int32, name string) (int64, bool) {
	x, err := strconv.ParseFloat(v.OfGPU(gpu, name), 64)
	return int64(x), err == nil && x > 0
}

// mostLinks bounds the numbers of NVLinks that are looked for.
const mostLinks = 18

// nvlinks counts the links between any two GPUs that are on: those to one another, or those that
// both have to switches. nil where there is none.
func nvlinks(v *capture.Inventory) [][]int64 {
	place := map[string]int{}
	for i, g := range v.GPUs {
		place[v.OfGPU(g.Index, "pci")] = i
	}
	direct := make([][]int64, len(v.GPUs))
	switched := make([]int64, len(v.GPUs))
	any := false
	for i, g := range v.GPUs {
		direct[i] = make([]int64, len(v.GPUs))
		for link := range mostLinks {
			of := fmt.Sprintf("nvlink.%d.", link)
			if v.OfGPU(g.Index, of+"state") != "on" {
				continue
			}
			any = true
			if v.OfGPU(g.Index, of+"peer_kind") == "switch" {
				switched[i]++
			} else if j, ok := place[v.OfGPU(g.Index, of+"peer")]; ok && j != i {
				direct[i][j]++
			}
		}
	}
	if !any {
		return nil
	}
	for i := range direct {
		for j := range direct {
			if i != j {
				direct[i][j] += min(switched[i], switched[j])
			}
		}
	}
	for i := range direct { // a link has two ends, of which one may not have been read
		for j := range i {
			most := max(direct[i][j], direct[j][i])
			direct[i][j], direct[j][i] = most, most
		}
	}
	return direct
}
