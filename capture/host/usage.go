package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"orrery/capture"
	"orrery/traces"
)

// renewal is how long what a node says is repeated: its counters are many small files, and a BMC takes long to answer.
const renewal = 950 * time.Millisecond

// usage is what Linux counts of a node as a whole, and what was read of it before.
type usage struct {
	root     *Node
	hardware map[string]bool // devices by their folder: whether they are hardware
	cpu      [2]int64        // ticks in which processors worked, and all
	cpuKnown bool
	packages map[string]joules // RAPL, by folder
	last     capture.Reading
	at       time.Time // it was read
}

// joules is a counter of RAPL, which begins anew at a bound of its own.
type joules struct{ last, base int64 } // µJ

func newUsage(root string) *usage {
	return &usage{root: New(root), hardware: map[string]bool{}, packages: map[string]joules{}}
}

// usageColumns are those that it fills, with what they are read from.
var usageColumns = []struct {
	name  string
	there func(*traces.Telemetry) bool
	read  func(*usage, *traces.Telemetry) error
}{
	{"cpu_util", func(t *traces.Telemetry) bool { return t.CPUUtil.OK }, (*usage).processors},
	{"mem_used", func(t *traces.Telemetry) bool { return t.MemUsed.OK }, (*usage).memory},
	{"disk_read", func(t *traces.Telemetry) bool { return t.DiskRead.OK }, (*usage).disks},
	{"net_rx", func(t *traces.Telemetry) bool { return t.NetRx.OK }, (*usage).adapters},
	{"cpu_energy", func(t *traces.Telemetry) bool { return t.CPUEnergy.OK }, (*usage).rapl},
	{"power", func(t *traces.Telemetry) bool { return t.Power.OK }, (*usage).meters},
}

// sample reads the node. What cannot be read is null; an error says that nothing can.
func (u *usage) sample(now time.Time) (capture.Reading, error) {
	if !u.at.IsZero() && now.Sub(u.at) < renewal {
		return u.last, nil
	}
	var r capture.Reading
	var why error
	found := false
	for _, c := range usageColumns {
		if err := c.read(u, &r.Telemetry); err != nil {
			why = err
		} else {
			found = true
		}
	}
	if !found {
		return r, why
	}
	u.last, u.at = r, now
	return r, nil
}

// lacks names the columns that the node has no value for. The use of processors needs two readings.
func (u *usage) lacks(v *capture.Inventory) {
	for _, c := range usageColumns {
		var t traces.Telemetry
		if err := c.read(u, &t); err != nil {
			v.Lack("node.telemetry."+c.name, reason(err))
		}
	}
}

// numbers are the words of a line as whole numbers; what is none is -1.
func numbers(words []string) []int64 {
	out := make([]int64, len(words))
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			n = -1
		}
		out[i] = n
	}
	return out
}

// processors reads their use since the reading before, from the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
// The times of guests that follow are parts of user and nice. Waiting for a disk is no work.
func (u *usage) processors(t *traces.Telemetry) error {
	text, err := u.root.read("proc/stat")
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if len(words) < 9 || words[0] != "cpu" {
		return errForm
	}
	n := numbers(words[1:9])
	all := int64(0)
	for _, v := range n {
		if v < 0 {
			return errForm
		}
		all += v
	}
	now := [2]int64{all - n[3] - n[4], all}
	worked, passed := now[0]-u.cpu[0], now[1]-u.cpu[1]
	if u.cpuKnown && passed > 0 && worked >= 0 && worked <= passed { // iowait may go back
		t.CPUUtil = traces.Some(float64(worked) / float64(passed))
	}
	u.cpu, u.cpuKnown = now, true
	return nil
}

// memory is what programs hold, and what the kernel cannot give back.
func (u *usage) memory(t *traces.Telemetry) error {
	text, err := u.root.read("proc/meminfo")
	if err != nil {
		return err
	}
	total, available := int64(-1), int64(-1)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "MemTotal:":
			total = numbers(words[1:2])[0]
		case words[0] == "MemAvailable:":
			available = numbers(words[1:2])[0]
		}
	}
	if available < 0 || total < available {
		return errForm
	}
	t.MemUsed = traces.Some((total - available) << 10)
	return nil
}

// sector is the unit of /proc/diskstats, whatever a disk has.
const sector = 512

// disks adds up whole disks that are hardware: not their partitions, nor what is made of them (md, dm, loop).
func (u *usage) disks(t *traces.Telemetry) error {
	text, err := u.root.read("proc/diskstats")
	if err != nil {
		return err
	}
	var read, written int64
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 10 || !u.isHardware("sys/block/"+strings.ReplaceAll(words[2], "/", "!")) {
			continue
		}
		n := numbers([]string{words[5], words[9]})
		if n[0] < 0 || n[1] < 0 {
			return errForm
		}
		read, written = read+n[0]*sector, written+n[1]*sector
	}
	t.DiskRead, t.DiskWritten = traces.Some(read), traces.Some(written)
	return nil
}

// adapters adds up those that are hardware, of the network of the node: a container may have another.
func (u *usage) adapters(t *traces.Telemetry) error {
	text, err := u.root.read("proc/1/net/dev")
	if err != nil {
		if text, err = u.root.read("proc/net/dev"); err != nil {
			return err
		}
	}
	var received, sent int64
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if !found || len(words) < 9 || !u.isHardware("sys/class/net/"+strings.TrimSpace(name)) {
			continue
		}
		n := numbers([]string{words[0], words[8]})
		if n[0] < 0 || n[1] < 0 {
			return errForm
		}
		received, sent = received+n[0], sent+n[1]
	}
	t.NetRx, t.NetTx = traces.Some(received), traces.Some(sent)
	return nil
}

// isHardware says whether a device has hardware behind it, which no partition, bridge or device of a container has.
func (u *usage) isHardware(folder string) bool {
	is, known := u.hardware[folder]
	if !known {
		_, err := os.Stat(filepath.Join(u.root.root, folder, "device"))
		is = err == nil
		u.hardware[folder] = is
	}
	return is
}

// rapl adds up the processor packages. Parts of them (core, uncore, dram) and the platform (psys), which not all nodes have, do not count.
func (u *usage) rapl(t *traces.Telemetry) error {
	const base = "sys/class/powercap"
	sum, found := int64(0), false
	for _, zone := range u.root.list(base) {
		folder := base + "/" + zone
		if !strings.HasPrefix(zone, "intel-rapl:") || strings.Count(zone, ":") != 1 {
			continue
		}
		if name, err := u.root.read(folder + "/name"); err != nil || !strings.HasPrefix(name, "package") {
			continue
		}
		text, err := u.root.read(folder + "/energy_uj")
		if err != nil {
			return err // since 2020 for root alone
		}
		now := numbers([]string{text})[0]
		if now < 0 {
			return errForm
		}
		c, known := u.packages[zone]
		if known && now < c.last {
			text, err := u.root.read(folder + "/max_energy_range_uj")
			if err != nil {
				return err
			}
			most := numbers([]string{text})[0]
			if most < c.last {
				return errForm
			}
			c.base += most
		}
		c.last = now
		u.packages[zone] = c
		sum, found = sum+c.base+now, true
	}
	if !found {
		return os.ErrNotExist
	}
	t.CPUEnergy = traces.Some(sum / 1000)
	return nil
}

// meters adds up the power meters of ACPI, through which a BMC tells the power of the node: one for each supply.
func (u *usage) meters(t *traces.Telemetry) error {
	const base = "sys/class/hwmon"
	sum, found := int64(0), false
	for _, chip := range u.root.list(base) {
		folder := base + "/" + chip
		if name, err := u.root.read(folder + "/name"); err != nil || name != "power_meter" {
			continue
		}
		for _, file := range u.root.list(folder) {
			if !strings.HasPrefix(file, "power") || !strings.HasSuffix(file, "_average") {
				continue
			}
			text, err := u.root.read(folder + "/" + file)
			if err != nil {
				return err
			}
			µw := numbers([]string{text})[0]
			if µw < 0 {
				return errForm
			}
			sum, found = sum+µw, true
		}
	}
	if !found {
		return os.ErrNotExist
	}
	t.Power = traces.Some(float64(sum) / 1e6)
	return nil
}
