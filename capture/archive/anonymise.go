package archive

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"orrery/capture"
	"orrery/traces"
)

// keptFacts are those that tell no node, no site and no user apart.
var keptFacts = regexp.MustCompile(`^(driver\.version|nvml\.version|gpu\.\d+\.(name|memory_bytes|vbios|inforom|gsp_firmware|pcie\..*|power\..*|temperature\..*|ecc|mig|mig\.\d+\.(name|gpu_instance|compute_instance|memory_bytes)|gpu_instance\.\d+\.telemetry\.[a-z_]+|fabric\.state|nvlink\.\d+\.(state|version|peer_kind)|telemetry(\.[a-z_]+)?|xid|numa|cpus)|node\.telemetry\.[a-z_]+|nic\.[^.]+\.(numa|cpus|type|port\.\d+\.rate))$`)

// Hidden replaces names: the same name by the same word under one key, and by another under another.
type Hidden struct {
	key   []byte
	nodes map[string]string
	pids  map[string]int
}

// NewHidden takes the key, by which names can be found again by trying all.
func NewHidden(key []byte) *Hidden {
	return &Hidden{key: key, nodes: map[string]string{}, pids: map[string]int{}}
}

func (h *Hidden) digest(kind, name string) string {
	m := hmac.New(sha256.New, h.key)
	fmt.Fprintf(m, "%s %s", kind, name)
	return hex.EncodeToString(m.Sum(nil))
}

// node is n0001 and so on, in the order of the names.
func (h *Hidden) node(name string) string {
	if name == "" {
		return ""
	}
	if h.nodes[name] == "" {
		h.nodes[name] = fmt.Sprintf("n%04d", len(h.nodes)+1)
	}
	return h.nodes[name]
}

// Apply edits the set, and returns what Write needs. Instants stay as they are.
func (h *Hidden) Apply(s *Set) Edit {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Name = h.node(n.Name)
		n.Group, n.VCluster = "", ""
		if n.Fingerprint != "" {
			n.Fingerprint = h.digest("fingerprint", n.Fingerprint)
		}
	}
	return Edit{Row: h.row, Instance: h.instance, Event: h.event}
}

func (h *Hidden) row(t *traces.Telemetry) bool {
	t.Processes = h.processes(t.Node, t.Processes)
	t.Node = h.node(t.Node)
	return true
}

func (h *Hidden) instance(i *traces.Instance) bool {
	i.Processes = h.processes(i.Node, i.Processes)
	i.Node = h.node(i.Node)
	for _, uuid := range []*string{&i.UUID, &i.GPUUUID} {
		if *uuid != "" {
			*uuid = h.digest("uuid", *uuid)[:12]
		}
	}
	return true
}

// processes keeps what tells no user; those of another program are left out.
func (h *Hidden) processes(name, text string) string {
	procs, err := capture.Decode(text)
	if err != nil {
		return ""
	}
	for i := range procs {
		p := &procs[i]
		of := fmt.Sprint(name, " ", p.PID)
		if h.pids[of] == 0 {
			h.pids[of] = len(h.pids) + 1
		}
		p.PID, p.Name = h.pids[of], ""
		if p.Job != "" {
			p.Job = h.digest("job", p.Job)[:12]
		}
		if p.Container != "" {
			p.Container = h.digest("container", p.Container)[:12]
		}
		if p.Pod != "" {
			p.Pod = h.digest("pod", p.Pod)[:12]
		}
	}
	return capture.Encode(procs)
}

// event keeps the records that it knows, without what tells a node.
func (h *Hidden) event(e *traces.Event) bool {
	if e.Kind != capture.EventKind {
		return false // of a scheduler, with names of its own
	}
	r, err := capture.ReadRecord(e)
	if err != nil {
		return false
	}
	name, gpu, found := strings.Cut(e.Subject, "/")
	name = h.node(name)
	if found {
		name += "/" + gpu
	}
	if r.Fingerprint != "" {
		r.Fingerprint = h.digest("fingerprint", r.Fingerprint)
	}
	r.Changed, r.Bundle = nil, ""
	if v := r.Inventory; v != nil {
		v.Facts = slices.DeleteFunc(v.Facts, func(f capture.Fact) bool { return !keptFacts.MatchString(f.Name) })
		v.Missing = slices.DeleteFunc(v.Missing, func(m capture.Missing) bool { return !keptFacts.MatchString(m.Name) })
		for i := range v.GPUs {
			v.GPUs[i].UUID = ""
		}
	}
	*e = r.Event(e.Time, name)
	return true
}
