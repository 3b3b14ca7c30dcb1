package profiles

import (
	"reflect"

	"orrery/hwmodel"
)

// Storage is the storage that all jobs share.
type Storage struct {
	Bandwidth      Rate `yaml:"bandwidth" zero:"none" default:"none" min:"1B/s" unit:"rate" doc:"that all transfers share: checkpoints that are written and read, and input that is staged. While they ask for more, all go on slower by one factor; none: each has its own rate, whatever others do"`
	StageBandwidth Rate `yaml:"stage_bandwidth" zero:"none" default:"none" min:"1B/s" unit:"rate" doc:"at which a job stages its input before its work begins, within its requested time: what its mounts have on other tiers than hot, else input_bytes of its class of work; none: nothing is staged"`
}

// Transfers says how jobs move data, nil where each transfer takes its size ÷ its rate and
// nothing is staged.
type Transfers struct {
	Bandwidth, Stage, Stop int64 // B/s, 0 for none
}

// transfers of a site whose file says any of their keys.
func (c *Cluster) transfers() *Transfers {
	t := Transfers{Bandwidth: int64(c.Storage.Bandwidth), Stage: int64(c.Storage.StageBandwidth), Stop: int64(c.Agents.CheckpointStop)}
	if t == (Transfers{}) {
		return nil
	}
	return &t
}

// bytes are those of the class in the words of package hwmodel.
func (w *Workload) bytes() hwmodel.Bytes {
	return hwmodel.Bytes{Checkpoint: size(w.CheckpointBytes), Input: size(w.InputBytes)}
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
}

// checkTransfers holds the keys of transfers against each other.
func (c *Cluster) checkTransfers(k *checker) {
	if stop := c.Agents.CheckpointStop; stop > 0 && stop < c.Agents.CheckpointBandwidth {
		k.add("agents.checkpoint_stop", "found %s, want at least checkpoint_bandwidth, %s: a job that copies its checkpoint slower than it writes it gains nothing by the copy",
			formatSize(reflect.ValueOf(stop)), formatSize(reflect.ValueOf(c.Agents.CheckpointBandwidth)))
	}
}
