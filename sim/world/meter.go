package world

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/world/internal/storage"
)

// Meter is what a site and its parts hold and draw now, and what has come to pass.
type Meter struct {
	SiteCounts
	Consequences Consequences
	Draw         hwmodel.Watts // now, idle nodes included

	vclusters []Share // by VClusterID
	tenants   []Share // by TenantID
	shares    []Share // both: the vClusters, and behind them the tenants
	// Touched are the vClusters and tenants whose shares have changed since the reader untouched and dropped them:
	// vClusters by their ids, and behind them tenants.
	Touched []int32
}

// shared are the shares of so many vClusters and tenants.
func (st *Meter) shared(vclusters, tenants int) {
	st.shares = make([]Share, vclusters+tenants)
	st.vclusters, st.tenants = st.shares[:vclusters:vclusters], st.shares[vclusters:]
}

// Untouch is the share of an entry of Touched, which is to be dropped from there.
func (st *Meter) Untouch(i int32) *Share {
	h := &st.shares[i]
	h.touched = false
	return h
}

// touch notes that h, the share number i, changes.
func (st *Meter) touch(h *Share, i int) {
	if !h.touched {
		h.touched = true
		st.Touched = append(st.Touched, int32(i))
	}
}

// SiteCounts is what has come to pass on a site.
type SiteCounts struct {
	Preempted       int64 `json:"preempted"`                  // times that a job was asked to leave its nodes
	Shed            int64 `json:"shed,omitempty"`             // of these, for the cap on power
	Suspended       int64 `json:"suspended"`                  // of these, left with a checkpoint
	Written         int64 `json:"checkpoints_written"`        // by running jobs that went on
	Requeued        int64 `json:"requeued"`                   // failed attempts whose jobs went back to the queue
	Failed          int64 `json:"failed"`                     // jobs that ended as FAILED
	NodesLost       int64 `json:"nodes_lost"`                 // that went down
	SharedFailures  int64 `json:"shared_failures,omitempty"`  // of parts that several nodes need
	FailedBoots     int64 `json:"failed_boots,omitempty"`     // times that a node did not boot
	FailedPrologues int64 `json:"failed_prologues,omitempty"` // on a node each
	Drifts          int64 `json:"drifts,omitempty"`           // of fingerprints, that checks have found
	SilentAgents    int64 `json:"silent_agents,omitempty"`    // silences of agents of nodes that work
	BrokenStarts    int64 `json:"broken_starts,omitempty"`    // starts on a node that was broken and not yet known to be
	Resized         int64 `json:"resized,omitempty"`          // times that a running service got another size
	// Refused are the proposals that the quorum refused, by reason.
	Refused map[string]int64 `json:"refused,omitempty"`
	Moot    int64            `json:"moot_changes"`      // of the cluster file or the trace, that found nothing to change
	Unrated int64            `json:"unrated,omitempty"` // jobs whose hardware counted as that of their record, for want of the speed of that
	Lost    int64            `json:"lost_gpu_us"`       // GPU time of work thrown away, µs
	// Transfers are those through shared storage, one entry a kind; absent where each takes its size ÷ its rate
	// whatever others do.
	Transfers []storage.Counts `json:"transfers,omitempty"`
}

// Share is what the running jobs of one vCluster or of one tenant hold now.
type Share struct {
	Waiting, Running int32
	Nodes, GPUs      int64 // a node of which a job holds a part counts whole for it
	Milli            int64 // thousandths of GPUs beside whole ones
	Borrowed         int64 // of Nodes: at home in another vCluster
	Lent             int64 // of a vCluster: its home nodes held by jobs of others

	touched bool
}

// Consequences are what hardware has done with jobs, in µs of GPU time at work.
type Consequences struct {
	Terms    hwmodel.Terms           // that are switched on
	GPUTime  int64                   // in all
	Classed  int64                   // of jobs in a class
	Modelled int64                   // of jobs of which every term that is switched on was known
	Unknown  [hwmodel.NumTerms]int64 // of jobs of which this one was not
	// Lost is the work that was not done in this time for each term, taken in their order: a term loses what the
	// terms before it have left. Below 0 it has gained.
	Lost [hwmodel.NumTerms]int64
	// Sources is node time held, by what the power of its jobs rests on, µs.
	Sources [model.PowerUnknown + 1]int64
	// OverCap is how long the site drew more than its cap, µs.
	OverCap int64
}
