package nodelist

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"orrery/profiles"
)

// What nvidia-smi topo -m prints: a matrix with a row and a column for each GPU and each network interface, values apart by
// tabs, and behind it the CPUs and the NUMA domain near each GPU. NV18 is a path of 18 NVLinks; X is a thing itself; PIX, PXB,
// PHB, NODE and SYS are paths over PCIe and between NUMA domains, from the nearest to the farthest. Rows and columns of network
// interfaces are passed over.

// Links are how the GPUs of a node are joined, of which a list says nothing else.
type Links struct {
	GPUs     int64
	CPUs     int64 // that the list has near any GPU, 0 where it says none
	Topology profiles.GPUTopology
}

// linkBandwidth is that of one NVLink each way, in GB/s, as of the generations 2 to 4.
const linkBandwidth = 25

// underlined are the escapes by which newer drivers underline the names of columns.
var underlined = regexp.MustCompile("\x1b\\[[0-9;]*m")

// pciePaths are the words for a path that is no NVLink.
var pciePaths = []string{"PIX", "PXB", "PHB", "NODE", "SYS", "PSB", "SOC"}

func isTopology(text []byte) bool {
	text = text[:min(len(text), 1<<12)]
	first, _, _ := strings.Cut(strings.TrimLeft(string(text), "\r\n"), "\n")
	names := tabbed(first)
	return len(names) > 1 && names[0] == "" && names[1] == "GPU0"
}

// tabbed are the values of a line.
func tabbed(line string) []string {
	out := strings.Split(underlined.ReplaceAllString(line, ""), "\t")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// readTopology reads the rows of the GPUs.
func readTopology(l *List, text []byte) error {
	var names []string
	var rows [][]string
	var begin int64
	err := lines(text, func(number int64, line string) error {
		row := tabbed(line)
		switch {
		case names == nil:
			names, begin = row, number
		case row[0] == "GPU"+strconv.Itoa(len(rows)) && len(rows) < gpusOf(names):
			if len(row) < len(names) {
				return l.wrong(number, fmt.Sprintf("%d values of %s", len(row)-1, row[0]), fmt.Sprintf("%d, as there are columns on line %d", len(names)-1, begin), "make the list again if it was cut short")
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	n := gpusOf(names)
	if len(rows) < n {
		return l.wrong(begin, fmt.Sprintf("%d columns and %d rows of GPUs", n, len(rows)), "a row for each", "make the list again if it was cut short")
	}
	if n > mostGPUs {
		return l.wrong(begin, fmt.Sprintf("%d GPUs", n), fmt.Sprintf("at most %d", mostGPUs), "")
	}
	joined, err := l.matrix(rows, n, begin)
	if err != nil {
		return err
	}
	l.Links = &Links{GPUs: int64(n), Topology: topologyOf(joined)}
	return l.affinities(names, rows, begin)
}

// gpusOf is the number of columns GPU0, GPU1 and so on.
func gpusOf(names []string) (n int) {
	for n+1 < len(names) && names[n+1] == "GPU"+strconv.Itoa(n) {
		n++
	}
	return n
}

// matrix is the number of NVLinks between any two GPUs.
func (l *List) matrix(rows [][]string, n int, begin int64) ([][]int64, error) {
	joined := make([][]int64, n)
	for i := range joined {
		joined[i] = make([]int64, n)
		for j := range n {
			word, line := rows[i][j+1], begin+int64(i)+1
			links, isLinks := strings.CutPrefix(word, "NV")
			k, err := strconv.ParseInt(links, 10, 32)
			switch {
			case i == j && word == "X":
			case i != j && isLinks && err == nil && k > 0 && k <= 1000:
				joined[i][j] = k
			case i != j && slices.Contains(pciePaths, word):
			default:
				return nil, l.wrong(line, fmt.Sprintf("%q between GPU%d and GPU%d", excerpt(word), i, j), "X for a GPU itself, else NV and a number, PIX, PXB, PHB, NODE or SYS", "make the list again")
			}
			if j < i && (rows[j][i+1] != word) {
				return nil, l.wrong(line, fmt.Sprintf("%q between GPU%d and GPU%d, and %q between GPU%d and GPU%d", excerpt(word), i, j, excerpt(rows[j][i+1]), j, i), "the same both ways", "make the list again")
			}
		}
	}
	return joined, nil
}

// topologyOf are islands where all links of GPUs that are joined are alike, else the whole matrix.
func topologyOf(joined [][]int64) profiles.GPUTopology {
	t := profiles.GPUTopology{IslandBandwidth: 450, OtherBandwidth: 64}
	island, links := make([]int, len(joined)), int64(0)
	alike := true
	for i := range joined {
		island[i] = i
		for j := range i {
			if joined[i][j] > 0 {
				island[i] = island[j]
				break
			}
		}
	}
	for i := range joined {
		for j := range i {
			k := joined[i][j]
			alike = alike && (k > 0) == (island[i] == island[j]) && (k == 0 || links == 0 || k == links)
			links = max(links, k)
		}
	}
	switch {
	case links == 0:
	case alike:
		t.IslandBandwidth = links * linkBandwidth
		for i := range joined {
			var members []int32
			for j := i; j < len(joined) && island[i] == i; j++ {
				if island[j] == i {
					members = append(members, int32(j))
				}
			}
			if len(members) > 1 {
				t.Islands = append(t.Islands, members)
			}
		}
	default:
		for i := range joined {
			row := make([]int64, len(joined))
			for j, k := range joined[i] {
				if row[j] = k * linkBandwidth; k == 0 && i != j {
					row[j] = t.OtherBandwidth
				}
			}
			t.Bandwidth = append(t.Bandwidth, row)
		}
	}
	return t
}

// affinities reads the columns behind the matrix.
func (l *List) affinities(names []string, rows [][]string, begin int64) error {
	numa, cpus := slices.Index(names, "NUMA Affinity"), slices.Index(names, "CPU Affinity")
	var listed []bool // CPUs
	for i, row := range rows {
		if domain, err := strconv.ParseInt(valueAt(row, numa), 10, 32); err == nil && domain >= 0 && domain < 64 {
			l.Links.Topology.NUMA = append(l.Links.Topology.NUMA, int32(domain))
		}
		text := valueAt(row, cpus)
		if absent(text) {
			continue
		}
		for part := range strings.SplitSeq(text, ",") {
			low, high, isRange := strings.Cut(part, "-")
			if !isRange {
				high = low
			}
			a, errA := strconv.Atoi(low)
			b, errB := strconv.Atoi(high)
			if errA != nil || errB != nil || a < 0 || b < a || b >= mostCPUs {
				return l.wrong(begin+int64(i)+1, fmt.Sprintf("%q as CPU Affinity", excerpt(text)), "CPUs like 0-55,112-167", "make the list again")
			}
			for len(listed) <= b {
				listed = append(listed, false)
			}
			for k := a; k <= b; k++ {
				listed[k] = true
			}
		}
	}
	if len(l.Links.Topology.NUMA) != len(rows) {
		l.Links.Topology.NUMA = nil
	}
	for _, is := range listed {
		if is {
			l.Links.CPUs++
		}
	}
	return nil
}

// valueAt is "" where a list lacks the column.
func valueAt(row []string, i int) string {
	if i < 0 || i >= len(row) {
		return ""
	}
	return row[i]
}

// aloneLinks makes a node of each list of links, where no other list has nodes.
func (b *builder) aloneLinks() error {
	if len(b.nodes) > 0 {
		return nil
	}
	for i, l := range b.links {
		one := List{File: l.File, Format: l.Format, Nodes: []Node{{Name: "node-" + strconv.Itoa(i+1), GPUs: l.Links.GPUs, CPUs: l.Links.CPUs}}}
		one.note("one node, with the CPUs that are near any of its GPUs")
		if err := b.add(&one); err != nil {
			return err
		}
	}
	return nil
}

// link gives the links of a list to the types of nodes with as many GPUs.
func (b *builder) link() error {
	for _, l := range b.links {
		n := l.Links.GPUs
		if b.linked[n] {
			return l.wrong(0, fmt.Sprintf("links of %d GPUs a second time", n), "one list for each number of GPUs of a node", "leave one list out")
		}
		found := false
		for i := range b.kinds {
			if b.kinds[i].gpus == n {
				b.c.NodeTypes[i].GPUTopology, found = l.Links.Topology, true
			}
		}
		if !found {
			return l.wrong(0, fmt.Sprintf("links of %d GPUs", n), "those of nodes that the other lists have", "leave the list out, or add one with such nodes")
		}
		b.linked[n] = true
		b.assumed = append(b.assumed, fmt.Sprintf("%s: all nodes of %d GPUs have these links; NVLinks have %d GB/s each way, as those of the generations 2 to 4", l.File, n, linkBandwidth))
	}
	return nil
}
