package profiles

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/spelling"
)

// Storage is the storage that all jobs share.
type Storage struct {
	Bandwidth      Rate `yaml:"bandwidth" zero:"none" default:"none" min:"1B/s" unit:"rate" doc:"that all transfers share: checkpoints that are written and read, and input that is staged. While they ask for more, all go on slower by one factor; none: each has its own rate, whatever others do"`
	StageBandwidth Rate `yaml:"stage_bandwidth" zero:"none" default:"none" min:"1B/s" unit:"rate" doc:"at which a job stages its input before its work begins, within its requested time: what its mounts have on other tiers than hot, else input_bytes of its class of work; none: nothing is staged"`
}

// FileSystem is one of several that jobs share.
type FileSystem struct {
	Name      string `yaml:"name" unit:"name" doc:"that classes of work refer to"`
	Bandwidth Rate   `yaml:"bandwidth" zero:"none" default:"none" min:"1B/s" unit:"rate" doc:"that all transfers to and from it share, as in storage.bandwidth; none: each has its own rate, whatever others do"`
}

// Transfers says how jobs move data, nil where each transfer takes its size ÷ its rate and
// nothing is staged.
type Transfers struct {
	Bandwidth, Stage, Stop int64        // B/s, 0 for none
	FileSystems            []FileSystem // instead of Bandwidth, nil for one without a name
}

// transfers of a site whose file says any of their keys.
func (c *Cluster) transfers() *Transfers {
	t := Transfers{int64(c.Storage.Bandwidth), int64(c.Storage.StageBandwidth), int64(c.Agents.CheckpointStop), c.FileSystems}
	if t.Bandwidth == 0 && t.Stage == 0 && t.Stop == 0 && len(t.FileSystems) == 0 {
		return nil
	}
	return &t
}

// bytes are those of the class in the words of package hwmodel.
func (w *Workload) bytes(systems []FileSystem) hwmodel.Bytes {
	at := func(name string) int32 {
		return int32(max(0, slices.IndexFunc(systems, func(f FileSystem) bool { return f.Name == name })))
	}
	return hwmodel.Bytes{
		Checkpoint: size(w.CheckpointBytes), Input: size(w.InputBytes),
		CheckpointOn: at(w.FileSystem), InputOn: at(cmp.Or(w.InputFileSystem, w.FileSystem)),
	}
}

func size(b *Bytes) hwmodel.Size {
	if b == nil {
		return hwmodel.Size{}
	}
	return hwmodel.Size{Size: int64(*b), Known: true}
}

// checkHardware holds the keys of classes of work and of transfers against each other.
func (c *Cluster) checkHardware(k *checker) {
	c.checkWorkloads(k)
	c.checkTransfers(k)
	c.checkUplinks(k)
}

// checkTransfers holds the keys of transfers against each other.
func (c *Cluster) checkTransfers(k *checker) {
	if len(c.FileSystems) > 0 && c.Storage.Bandwidth > 0 {
		k.add("storage.bandwidth", "is there beside file_systems, each of which has a bandwidth of its own: leave one of them out")
	}
	for i := range c.Workloads {
		w := &c.Workloads[i]
		for _, x := range []struct{ key, name string }{{"file_system", w.FileSystem}, {"input_file_system", w.InputFileSystem}} {
			at := fmt.Sprintf("workloads[%d].%s", i, x.key)
			switch names := c.fileSystemNames(); {
			case x.name == "":
			case len(names) == 0:
				k.add(at, "found %s, and the file has no file_systems: list them, file_systems: [{name: %s, bandwidth: …}], or leave it out", x.name, x.name)
			case !slices.Contains(names, x.name):
				k.add(at, "found %q%s, want one of file_systems, %s", x.name, spelling.Hint(x.name, names), oneOf(names))
			}
		}
	}
	if stop := c.Agents.CheckpointStop; stop > 0 && stop < c.Agents.CheckpointBandwidth {
		k.add("agents.checkpoint_stop", "found %s, want at least checkpoint_bandwidth, %s: a job that copies its checkpoint slower than it writes it gains nothing by the copy",
			formatSize(reflect.ValueOf(stop)), formatSize(reflect.ValueOf(c.Agents.CheckpointBandwidth)))
	}
}

func (c *Cluster) fileSystemNames() []string {
	return namesOf(c.FileSystems, func(f FileSystem) string { return f.Name })
}

// remarkFileSystems looks for file systems that nothing is moved to or from.
func (c *Cluster) remarkFileSystems(all *problems) {
	for i, f := range c.FileSystems {
		used := func(w Workload) bool { return w.FileSystem == f.Name || w.InputFileSystem == f.Name }
		if i > 0 && !slices.ContainsFunc(c.Workloads, used) {
			all.add(fmt.Sprintf("file_systems[%d]", i), "no class of work names %s, and jobs of no class use the first, %s: nothing is moved to or from it", f.Name, c.FileSystems[0].Name)
		}
	}
}
