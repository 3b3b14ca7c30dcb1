package nodelist

import (
	"fmt"
	"strconv"
	"strings"
)

// A description of a system of MLPerf is an object of JSON whose values are texts: number_of_nodes, of each node
// host_processors_per_node (sockets) of host_processor_core_count cores, host_memory_capacity, accelerators_per_node,
// accelerator_model_name, accelerator_memory_capacity. Sizes are written in many ways; one that cannot be read is not known.

// phrase is the text of a value, which may be a number where a text is usual.
func phrase(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.TrimSpace(fmt.Sprint(v))
}

func readMLPerf(l *List, text []byte) error {
	var of struct {
		System  string `json:"system_name"`
		Nodes   any    `json:"number_of_nodes"`
		Sockets any    `json:"host_processors_per_node"`
		Cores   any    `json:"host_processor_core_count"`
		Memory  any    `json:"host_memory_capacity"`
		GPUs    any    `json:"accelerators_per_node"`
		Model   string `json:"accelerator_model_name"`
		Each    any    `json:"accelerator_memory_capacity"`
	}
	if err := l.unmarshal(text, &of); err != nil {
		return err
	}
	var nodes, sockets, cores int64
	var n Node
	for _, v := range []struct {
		key   string
		value any
		to    *int64
	}{
		{"number_of_nodes", of.Nodes, &nodes}, {"accelerators_per_node", of.GPUs, &n.GPUs},
		{"host_processors_per_node", of.Sockets, &sockets}, {"host_processor_core_count", of.Cores, &cores},
	} {
		if err := l.number(0, v.key, phrase(v.value), v.to); err != nil {
			return err
		}
	}
	if nodes == 0 {
		return l.wrong(0, fmt.Sprintf("number_of_nodes %q", excerpt(phrase(of.Nodes))), "1 or more", "correct the value")
	}
	if sockets > mostCPUs || cores > mostCPUs {
		return l.wrong(0, fmt.Sprintf("%d processors of %d cores", sockets, cores), fmt.Sprintf("at most %d cores", mostCPUs), "correct the value")
	}
	n.CPUs, n.GPU = sockets*cores, words(of.Model)
	if n.GPUs > 0 {
		l.size("accelerator_memory_capacity", phrase(of.Each), &n.GPUMemory)
	}
	l.size("host_memory_capacity", phrase(of.Memory), &n.Memory)
	name := plain(words(of.System))
	if name == "" {
		name = "node"
	}
	if err := l.room(0, nodes); err != nil {
		return err
	}
	l.note(fmt.Sprintf("%d nodes, all alike, are called %s-n1 and so on", nodes, name))
	for i := range nodes {
		n.Name = name + "-n" + strconv.FormatInt(i+1, 10)
		l.Nodes = append(l.Nodes, n)
	}
	return nil
}

// words joins the words of a name, without what only divides them.
func words(name string) string {
	var out []string
	for _, w := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" ()/,", r) }) {
		if strings.Trim(w, "-") != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, "-")
}

// size reads 80 GB, 81559 MiB, 141G, 2.0 TB and 2x 24 GB, of which the size is that of one.
func (l *List) size(key, text string, to *int64) {
	if absent(text) {
		return
	}
	number := text
	if times, each, ok := strings.Cut(text, "x"); ok && strings.Trim(times, "0123456789") == "" {
		number = strings.TrimSpace(each)
	}
	end := strings.IndexFunc(number, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(number)
	}
	x, err := strconv.ParseFloat(number[:end], 64)
	scale := map[string]float64{"MB": 1e6, "MiB": 1 << 20, "GB": 1e9, "G": 1e9, "GiB": 1 << 30, "TB": 1e12, "T": 1e12, "TiB": 1 << 40}[strings.TrimSpace(number[end:])]
	if bytes := float64(x * scale); err == nil && scale > 0 && bytes < 1<<50 {
		*to = int64(bytes + 0.5)
		return
	}
	l.note(fmt.Sprintf("%s is not known: %q is no size", key, excerpt(text)))
}
