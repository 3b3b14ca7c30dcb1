package task

import (
	"errors"
	"io"

	"orrery/scheduler/model"
	"orrery/sim/losers"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

// cellKey says which cell a job is in, by class and by index of its names.
type cellKey struct {
	runtime, size                     int8
	user, tenant, partition, vcluster int32 // -1 for none
}

// cells adds up all jobs of the run. Jobs of services that are not rows of the trace
// have neither a user nor a partition.
func (w *worker) cells(m *traces.Memory, site *plan.SiteNames) ([]losers.Cell, error) {
	names, err := namesOf(m, site)
	if err != nil {
		return nil, err
	}
	c, at := &w.jobs.Jobs, map[cellKey]int32{}
	var out []losers.Cell
	for i := range c.Len() {
		key := names.key(c, i)
		k, met := at[key]
		if !met {
			k = int32(len(out))
			at[key] = k
			out = append(out, names.cell(key))
		}
		cell := &out[k]
		cell.Jobs++
		cell.Work += int64(c.Procs[i]) * (c.Runtime[i] / int64(model.Second))
		if wait := c.Wait[i]; wait >= 0 {
			cell.Waits.Add(wait)
		} else {
			cell.Unstarted++
		}
	}
	losers.Sort(out)
	return out, nil
}

// jobNames are what a log and a site call the users and so on of jobs.
type jobNames struct {
	users, partitions, tenants, vclusters []string

	partition []int32 // of each row of the trace; a list of partitions is a name of its own
	runtime   []model.Duration
}

func namesOf(m *traces.Memory, site *plan.SiteNames) (n jobNames, err error) {
	if site != nil {
		n.tenants, n.vclusters = site.Tenants, site.VClusters
	}
	src, err := m.Open()
	if err != nil {
		return n, err
	}
	defer src.Close()
	n.users = src.Users()
	b := traces.Batch{Attr: &traces.Attributes{}}
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n.runtime = append(n.runtime, b.Runtime...)
		n.partition = append(n.partition, b.Attr.Text[traces.TextPartition]...)
		n.partitions = b.Attr.Texts.Of(traces.TextPartition)
	}
}

// key of the job of row i.
func (n *jobNames) key(c *record.Columns, i int) cellKey {
	key := cellKey{
		runtime: int8(metric.RuntimeOf(model.Duration(c.Runtime[i]))), size: int8(metric.SizeOf(c.Procs[i])),
		user: indexOf(c.User[i], n.users), tenant: -1, partition: -1, vcluster: -1,
	}
	if row := int(c.Job[i]); row >= 0 && row < len(n.partition) {
		key.partition = indexOf(n.partition[row], n.partitions)
		// Under another policy one that never started may start, and one that the log withdraws
		// runs until then: both belong to the same cell there.
		if logged := n.runtime[row]; logged == model.AbsentDuration || c.Wait[i] < 0 {
			key.runtime = int8(metric.RuntimeOf(max(0, logged)))
		}
	}
	if c.OfSite {
		key.tenant, key.vcluster = indexOf(c.Tenant[i], n.tenants), indexOf(c.VCluster[i], n.vclusters)
	}
	return key
}

// cell has the names of a key.
func (n *jobNames) cell(k cellKey) losers.Cell {
	return losers.Cell{
		Runtime: metric.RuntimeName(int(k.runtime)), Size: metric.SizeName(int(k.size)),
		User: nameAt(n.users, k.user), Tenant: nameAt(n.tenants, k.tenant),
		Partition: nameAt(n.partitions, k.partition), VCluster: nameAt(n.vclusters, k.vcluster),
	}
}

// indexOf is i, or -1 where no name has this index.
func indexOf(i int32, names []string) int32 {
	if i < 0 || int(i) >= len(names) {
		return -1
	}
	return i
}

func nameAt(names []string, i int32) string {
	if i < 0 {
		return ""
	}
	return names[i]
}
