// Package host reads what Linux says of a node and of the processes on it: firmware, boot
// parameters, network adapters and their affinity, and which job or container a process belongs to. All of it comes
// from files below a root that the caller names. It must not know GPUs' drivers.
package host

import (
	"bufio"
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"orrery/capture"
)

// Node is a node by its file systems, "/" for the one that this runs on.
type Node struct {
	root  string
	procs map[int]*known // by process id
	round int
}

// known is what does not change while a process lives.
type known struct {
	started   string // field 22 of stat: tells a process from a later one of the same number
	name      string
	job       string
	container string
	read      *int64
	written   *int64
	round     int
}

// New is the node below root.
func New(root string) *Node { return &Node{root: root, procs: map[int]*known{}} }

func (n *Node) read(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(n.root, path))
	return strings.TrimSpace(string(text)), err
}

// fact adds the content of a file.
func (n *Node) fact(v *capture.Inventory, name, path string) {
	text, err := n.read(path)
	if err != nil {
		v.Lack(name, reason(err))
		return
	}
	if text == "-1" { // of a NUMA node or a rate
		v.Lack(name, "not known to the kernel")
		return
	}
	v.Add(name, text)
}

func reason(err error) string {
	switch {
	case os.IsNotExist(err):
		return "no such file"
	case os.IsPermission(err):
		return "no permission"
	case errors.Is(err, errForm):
		return err.Error()
	}
	return "cannot be read"
}

// Inventory adds what the node says to that of its GPUs.
func (n *Node) Inventory(v *capture.Inventory) {
	n.fact(v, capture.FactBIOS, "sys/class/dmi/id/bios_version")
	n.fact(v, "bios.date", "sys/class/dmi/id/bios_date")
	n.fact(v, "board.name", "sys/class/dmi/id/board_name")
	n.fact(v, capture.FactKernel, "proc/sys/kernel/osrelease")
	n.fact(v, capture.FactParameters, "proc/cmdline")
	if found, _ := filepath.Glob(filepath.Join(n.root, "sys/devices/platform/ipmi_bmc.*/firmware_revision")); len(found) > 0 {
		inside, _ := filepath.Rel(n.root, found[0])
		n.fact(v, capture.FactBMC, inside)
	} else {
		v.Lack(capture.FactBMC, "no such file")
	}
	n.nics(v)
	for _, g := range v.GPUs {
		prefix := capture.OfGPU(g.Index)
		if id := v.Value(prefix + "pci"); id != "" {
			n.fact(v, prefix+"numa", "sys/bus/pci/devices/"+id+"/numa_node")
			n.fact(v, prefix+"cpus", "sys/bus/pci/devices/"+id+"/local_cpulist")
		}
	}
	v.CPUs = n.cpus()
	v.Memory = n.memory()
}

// nics lists the adapters for RDMA, which sysfs knows the firmware of, and the other
// network devices that are hardware.
func (n *Node) nics(v *capture.Inventory) {
	for _, dev := range n.list("sys/class/infiniband") {
		base := "sys/class/infiniband/" + dev
		n.fact(v, capture.NICFirmware(dev), base+"/fw_ver")
		n.fact(v, "nic."+dev+".type", base+"/hca_type")
		n.fact(v, "nic."+dev+".numa", base+"/device/numa_node")
		n.fact(v, "nic."+dev+".cpus", base+"/device/local_cpulist")
		for _, port := range n.list(base + "/ports") {
			n.fact(v, "nic."+dev+".port."+port+".rate", base+"/ports/"+port+"/rate")
			n.fact(v, "nic."+dev+".port."+port+".state", base+"/ports/"+port+"/state")
		}
	}
	for _, dev := range n.list("sys/class/net") {
		base := "sys/class/net/" + dev
		if _, err := os.Stat(filepath.Join(n.root, base, "device")); err != nil {
			continue // lo, bridges, those of containers
		}
		n.fact(v, "net."+dev+".numa", base+"/device/numa_node")
		n.fact(v, "net."+dev+".speed_mbps", base+"/speed")
	}
}

// list are the names in a folder, ascending.
func (n *Node) list(path string) (names []string) {
	entries, err := os.ReadDir(filepath.Join(n.root, path))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (n *Node) cpus() int32 {
	text, err := n.read("sys/devices/system/cpu/online")
	if err != nil {
		return int32(runtime.NumCPU())
	}
	total := 0
	for _, part := range strings.Split(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		a, err1 := strconv.Atoi(low)
		b, err2 := strconv.Atoi(high)
		switch {
		case err1 != nil || ranged && err2 != nil || ranged && b < a:
			return int32(runtime.NumCPU())
		case ranged:
			total += b - a + 1
		default:
			total++
		}
	}
	return int32(total)
}

// memory is the main memory in B, 0 when not known.
func (n *Node) memory() int64 {
	text, err := n.read("proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) >= 2 && words[0] == "MemTotal:" {
			kb, _ := strconv.ParseInt(words[1], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// Process fills in what proc says of a process: its name, its job and container by its cgroup, and what it read
// and wrote so far. A process that is gone, or of another PID namespace, stays a number. Unless afresh is set, what was
// read before stands for a process that is known.
func (n *Node) Process(p *capture.Process, afresh bool) {
	if k := n.procs[p.PID]; k != nil && !afresh {
		k.round = n.round
		p.Name, p.Job, p.Container, p.Read, p.Written = k.name, k.job, k.container, k.read, k.written
		return
	}
	dir := filepath.Join(n.root, "proc", strconv.Itoa(p.PID))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return
	}
	name, started := parseStat(stat)
	k := n.procs[p.PID]
	if k == nil || k.started != started {
		cgroup, _ := os.ReadFile(filepath.Join(dir, "cgroup"))
		k = &known{started: started, name: name}
		k.job, k.container = Cgroup(string(cgroup))
		n.procs[p.PID] = k
	}
	k.round = n.round
	p.Name, p.Job, p.Container = k.name, k.job, k.container
	if counters, err := os.ReadFile(filepath.Join(dir, "io")); err == nil { // root, or the same user
		k.read, k.written = counter(counters, "read_bytes: "), counter(counters, "write_bytes: ")
		p.Read, p.Written = k.read, k.written
	}
}

// Round ends a round of calls of Process: processes that were not named in it are forgotten.
func (n *Node) Round() {
	maps.DeleteFunc(n.procs, func(_ int, k *known) bool { return k.round < n.round })
	n.round++
}

// parseStat reads the name, which is in brackets and may hold anything, and field 22.
func parseStat(stat []byte) (name, started string) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return "", ""
	}
	rest := bytes.Fields(stat[end+1:])
	if len(rest) > 19 {
		started = string(rest[19])
	}
	return string(stat[open+1 : end]), started
}

func counter(text []byte, key string) *int64 {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if digits, found := strings.CutPrefix(lines.Text(), key); found {
			if v, err := strconv.ParseInt(digits, 10, 64); err == nil {
				return &v
			}
		}
	}
	return nil
}

var (
	slurmJob  = regexp.MustCompile(`/(?:slurm[^/]*|system\.slice)/(?:.*/)?job_(\d+)(?:/|$)`)
	podID     = regexp.MustCompile(`pod([0-9a-fA-F]{8}[-_][0-9a-fA-F_-]{27})`)
	container = regexp.MustCompile(`(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?:/|$)`)
)

// Cgroup finds in /proc/PID/cgroup the job of Slurm and the container, as the pod of Kubernetes with a slash and
// the first 12 digits of the container, or these digits alone.
func Cgroup(text string) (job, inside string) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		path := parts[2]
		if m := slurmJob.FindStringSubmatch(path); m != nil && job == "" {
			job = m[1]
		}
		if all := container.FindAllStringSubmatch(path, -1); len(all) > 0 && inside == "" {
			inside = all[len(all)-1][1][:12]
			if pod := podID.FindStringSubmatch(path); pod != nil {
				inside = strings.ReplaceAll(pod[1], "_", "-") + "/" + inside
			}
		}
	}
	return job, inside
}
